import { Applications } from "@reins/core/changes/Applications"
import { Changesets } from "@reins/core/changes/Changesets"
import { Deliveries } from "@reins/core/changes/Deliveries"
import { MergeRequests } from "@reins/core/changes/MergeRequests"
import { Effect } from "effect"
import type { Handlers } from "./Handlers.js"

export const changesets = Effect.gen(function* () {
  const changesets = yield* Changesets
  const deliveries = yield* Deliveries
  const applications = yield* Applications
  const handlers: Handlers<"changesets"> = {
    get: ({ path, principal }) => changesets.get(principal, path.changeset_id),
    getDiff: ({ path, principal, query }) => changesets.diff(principal, path.changeset_id, query),
    listFiles: ({ path, principal, query }) => changesets.files(principal, path.changeset_id, query.path),
    listDeliveries: ({ path, principal, query }) => deliveries.list(principal, path.changeset_id, query),
    deliver: ({ body, path, principal }) => deliveries.request(principal, path.changeset_id, body),
    apply: ({ body, path, principal }) => applications.request(principal, path.changeset_id, body)
  }
  return handlers
})

export const applications = Effect.map(
  Applications,
  (applications): Handlers<"applications"> => ({
    get: ({ path, principal }) => applications.get(principal, path.application_id)
  })
)

export const deliveries = Effect.gen(function* () {
  const deliveries = yield* Deliveries
  const mergeRequests = yield* MergeRequests
  const handlers: Handlers<"deliveries"> = {
    get: ({ path, principal }) => deliveries.get(principal, path.delivery_id),
    retry: ({ path, principal }) => deliveries.retry(principal, path.delivery_id),
    refresh: ({ path, principal }) => deliveries.refresh(principal, path.delivery_id),
    cancel: ({ path, principal }) => deliveries.cancel(principal, path.delivery_id),
    listMergeRequests: ({ path, principal, query }) => mergeRequests.list(principal, path.delivery_id, query),
    openMergeRequest: ({ body, path, principal }) => mergeRequests.open(principal, path.delivery_id, body)
  }
  return handlers
})

export const mergeRequests = Effect.map(
  MergeRequests,
  (mergeRequests): Handlers<"mergeRequests"> => ({
    get: ({ path, principal }) => mergeRequests.get(principal, path.merge_request_id),
    merge: ({ body, path, principal }) => mergeRequests.merge(principal, path.merge_request_id, body)
  })
)
