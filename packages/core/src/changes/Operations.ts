import { Effect } from "effect"
import type { Operations } from "../store/Operation.js"
import { Applications } from "./Applications.js"
import type { CapturesApi } from "./CapturesApi.js"
import type { ApplicationsApi, ChangesetsApi, DeliveriesApi, MergeRequestsApi } from "./ChangesApi.js"
import { Changesets } from "./Changesets.js"
import { Conditions } from "./conditions/Conditions.js"
import type { ConditionsApi, VerdictsApi } from "./conditions/ConditionsApi.js"
import { Verdicts } from "./conditions/Verdicts.js"
import { Deliveries } from "./Deliveries.js"
import type { operationErrors } from "./Errors.js"
import { MergeRequestLooks } from "./looks/MergeRequestLooks.js"
import { MergeRequests } from "./MergeRequests.js"
import { RequestActs } from "./RequestActs.js"
import { SigningKeys } from "./SigningKeys.js"
import type { SigningKeysApi } from "./SigningKeysApi.js"

export const sessions = Effect.gen(function* () {
  const changesets = yield* Changesets
  const operations: Operations<typeof CapturesApi, typeof operationErrors> = {
    getChanges: ({ path, principal }) => changesets.changes(principal, path.session_id),
    listChangesets: ({ path, principal, query }) => changesets.list(principal, path.session_id, query),
    capture: ({ body, path, principal }) => changesets.capture(principal, path.session_id, body)
  }
  return operations
})

export const changesets = Effect.gen(function* () {
  const changesets = yield* Changesets
  const deliveries = yield* Deliveries
  const applications = yield* Applications
  const verdicts = yield* Verdicts
  const operations: Operations<typeof ChangesetsApi, typeof operationErrors> &
    Operations<typeof VerdictsApi, typeof operationErrors> = {
    submitVerdict: ({ body, path, principal }) => verdicts.give(principal, path.changeset_id, body),
    listVerdicts: ({ path, principal, query }) => verdicts.list(principal, path.changeset_id, query),
    get: ({ path, principal }) => changesets.get(principal, path.changeset_id),
    getDiff: ({ path, principal, query }) => changesets.diff(principal, path.changeset_id, query),
    listFiles: ({ path, principal, query }) => changesets.files(principal, path.changeset_id, query),
    listDeliveries: ({ path, principal, query }) => deliveries.list(principal, path.changeset_id, query),
    deliver: ({ body, path, principal }) => deliveries.request(principal, path.changeset_id, body),
    apply: ({ body, path, principal }) => applications.request(principal, path.changeset_id, body)
  }
  return operations
})

export const applications = Effect.gen(function* () {
  const applications = yield* Applications
  const operations: Operations<typeof ApplicationsApi, typeof operationErrors> = {
    get: ({ path, principal }) => applications.get(principal, path.application_id)
  }
  return operations
})

export const deliveries = Effect.gen(function* () {
  const deliveries = yield* Deliveries
  const mergeRequests = yield* MergeRequests
  const operations: Operations<typeof DeliveriesApi, typeof operationErrors> = {
    get: ({ path, principal }) => deliveries.get(principal, path.delivery_id),
    retry: ({ path, principal }) => deliveries.retry(principal, path.delivery_id),
    refresh: ({ path, principal }) => deliveries.refresh(principal, path.delivery_id),
    cancel: ({ path, principal }) => deliveries.cancel(principal, path.delivery_id),
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

export const signingKeys = Effect.gen(function* () {
  const keys = yield* SigningKeys
  const operations: Operations<typeof SigningKeysApi, typeof operationErrors> = {
    list: ({ path, principal, query }) => keys.list(principal, path.workspace_id, query),
    create: ({ path, principal }) => keys.create(principal, path.workspace_id),
    remove: ({ path, principal }) => keys.remove(principal, path.signing_key_id)
  }
  return operations
})
