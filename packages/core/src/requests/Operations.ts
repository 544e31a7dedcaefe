import { Effect } from "effect"
import type { Operations } from "../store/Operation.js"
import { Conditions } from "./conditions/Conditions.js"
import type { ConditionsApi, VerdictsApi } from "./conditions/ConditionsApi.js"
import { Verdicts } from "./conditions/Verdicts.js"
import type { operationErrors } from "./Errors.js"
import { MergeRequestLooks } from "./looks/MergeRequestLooks.js"
import { MergeRequests } from "./MergeRequests.js"
import { RequestActs } from "./RequestActs.js"
import type { DeliveryRequestsApi, MergeRequestsApi } from "./RequestsApi.js"

export const changesets = Effect.gen(function* () {
  const verdicts = yield* Verdicts
  const operations: Operations<typeof VerdictsApi, typeof operationErrors> = {
    submitVerdict: ({ body, path, principal }) => verdicts.give(principal, path.changeset_id, body),
    listVerdicts: ({ path, principal, query }) => verdicts.list(principal, path.changeset_id, query)
  }
  return operations
})

export const deliveries = Effect.gen(function* () {
  const mergeRequests = yield* MergeRequests
  const operations: Operations<typeof DeliveryRequestsApi, typeof operationErrors> = {
    listMergeRequests: ({ path, principal, query }) => mergeRequests.list(principal, path.delivery_id, query),
    openMergeRequest: ({ body, path, principal }) => mergeRequests.open(principal, path.delivery_id, body)
  }
  return operations
})

export const mergeRequests = Effect.gen(function* () {
  const mergeRequests = yield* MergeRequests
  const looks = yield* MergeRequestLooks
  const acts = yield* RequestActs
  const conditions = yield* Conditions
  const operations: Operations<typeof MergeRequestsApi, typeof operationErrors> &
    Operations<typeof ConditionsApi, typeof operationErrors> = {
    setConditions: ({ body, path, principal }) => conditions.set(principal, path.merge_request_id, body),
    removeConditions: ({ path, principal }) => conditions.remove(principal, path.merge_request_id),
    list: ({ path, principal, query }) => looks.list(principal, path.workspace_id, query),
    listChecks: ({ path, principal, query }) => looks.checks(principal, path.merge_request_id, query),
    listReviews: ({ path, principal, query }) => looks.reviews(principal, path.merge_request_id, query),
    listThreads: ({ path, principal, query }) => looks.threads(principal, path.merge_request_id, query),
    getLog: ({ path, principal }) => looks.log(principal, path.check_id),
    rerun: ({ body, path, principal }) => mergeRequests.rerun(principal, path.merge_request_id, body),
    setReadiness: ({ body, path, principal }) => acts.setReadiness(principal, path.merge_request_id, body),
    reply: ({ body, path, principal }) => acts.reply(principal, path.merge_request_id, body),
    look: ({ path, principal }) => looks.look(principal, path.merge_request_id),
    get: ({ path, principal }) => mergeRequests.get(principal, path.merge_request_id),
    merge: ({ body, path, principal }) => mergeRequests.merge(principal, path.merge_request_id, body)
  }
  return operations
})
