import { Effect } from "effect"
import type { Operations } from "../store/Operation.js"
import type { operationErrors } from "./Errors.js"
import type { McpApi } from "./McpApi.js"
import { ServerChecks } from "./ServerChecks.js"

export const projects = Effect.gen(function* () {
  const checks = yield* ServerChecks
  const operations: Operations<typeof McpApi, typeof operationErrors> = {
    checkServers: ({ body, path, principal }) => checks.check(principal, path.project_id, body)
  }
  return operations
})
