import { Effect } from "effect"
import type { Operations } from "../store/Operation.js"
import { Connections } from "./Connections.js"
import type { ConnectionsApi } from "./ConnectionsApi.js"
import type { operationErrors } from "./Errors.js"
import { Validations } from "./Validations.js"

export const connections = Effect.gen(function* () {
  const connections = yield* Connections
  const validations = yield* Validations
  const operations: Operations<typeof ConnectionsApi, typeof operationErrors> = {
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
  return operations
})
