import { Connections } from "@reins/core/connections/Connections"
import { Validations } from "@reins/core/connections/Validations"
import { Effect } from "effect"
import type { Handlers } from "./Handlers.js"

export const connections = Effect.gen(function* () {
  const connections = yield* Connections
  const validations = yield* Validations
  const handlers: Handlers<"connections"> = {
    list: ({ path, principal, query }) => connections.list(principal, path.workspace_id, query),
    create: ({ body, path, principal }) => connections.create(principal, path.workspace_id, body),
    get: ({ path, principal }) => connections.get(principal, path.connection_id),
    update: ({ body, path, principal }) => connections.update(principal, path.connection_id, body),
    disconnect: ({ path, principal }) => connections.disconnect(principal, path.connection_id),
    replaceCredential: ({ body, path, principal }) =>
      connections.replaceCredential(principal, path.connection_id, body),
    listCapabilities: ({ path, principal }) => validations.capabilities(principal, path.connection_id),
    listValidations: ({ path, principal, query }) => validations.list(principal, path.connection_id, query),
    validate: ({ path, principal }) => validations.request(principal, path.connection_id)
  }
  return handlers
})
