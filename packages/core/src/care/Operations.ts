import { Effect } from "effect"
import type { Operations } from "../store/Operation.js"
import type { CareApi } from "./CareApi.js"
import { Cares } from "./Cares.js"
import type { operationErrors } from "./Errors.js"

export const care = Effect.gen(function* () {
  const cares = yield* Cares
  const operations: Operations<typeof CareApi, typeof operationErrors> = {
    get: ({ path, principal }) => cares.get(principal, path.merge_request_id),
    start: ({ body, path, principal }) => cares.start(principal, path.merge_request_id, body),
    remove: ({ path, principal }) => cares.remove(principal, path.merge_request_id),
    listAttentions: ({ path, principal, query }) => cares.attentions(principal, path.merge_request_id, query),
    deliverAttention: ({ path, principal }) => cares.deliver(principal, path.attention_id)
  }
  return operations
})
