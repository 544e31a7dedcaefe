import { Effect } from "effect"
import type { Operations } from "../store/Operation.js"
import type { operationErrors } from "./Errors.js"
import { Jobs } from "./Jobs.js"
import type { JobsApi } from "./JobsApi.js"

export const jobs = Effect.gen(function* () {
  const jobs = yield* Jobs
  const operations: Operations<typeof JobsApi, typeof operationErrors> = {
    get: ({ path, principal }) => jobs.get(principal, path.job_id),
    getOperation: ({ path, principal }) => jobs.operation(principal, path.operation_id)
  }
  return operations
})
