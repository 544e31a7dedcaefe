import { Connections } from "@reins/core/connections/Connections"
import { Effect } from "effect"
import type { Handlers } from "./Handlers.js"

export const connectionsHandlers = Effect.map(
  Connections,
  (connections): Handlers<"connections"> => ({
    list: ({ path, principal, query }) => connections.list(principal, path.workspace_id, query),
    create: ({ body, path, principal }) => connections.create(principal, path.workspace_id, body),
    get: ({ path, principal }) => connections.get(principal, path.connection_id),
    update: ({ body, path, principal }) => connections.update(principal, path.connection_id, body),
    disconnect: ({ path, principal }) => connections.disconnect(principal, path.connection_id),
    replaceCredential: ({ body, path, principal }) => connections.replaceCredential(principal, path.connection_id, body)
  })
)
