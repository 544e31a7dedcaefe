import { Effect } from "effect"
import type { Operations } from "../store/Operation.js"
import { ConnectionLogins } from "./ConnectionLogins.js"
import type { operationErrors } from "./Errors.js"
import type { ConnectionLoginsApi } from "./LoginsApi.js"

export const connectionLogins = Effect.gen(function* () {
  const logins = yield* ConnectionLogins
  const operations: Operations<typeof ConnectionLoginsApi, typeof operationErrors> = {
    create: ({ body, path, principal }) => logins.create(principal, path.workspace_id, body),
    get: ({ path, principal }) => logins.get(principal, path.connection_login_id),
    answer: ({ body, path, principal }) => logins.answer(principal, path.connection_login_id, body)
  }
  return operations
})
