import { Changesets } from "@reins/core/changes/Changesets"
import { Deliveries } from "@reins/core/changes/Deliveries"
import { Effect } from "effect"
import type { Handlers } from "./Handlers.js"

export const changesetsHandlers = Effect.gen(function* () {
  const changesets = yield* Changesets
  const deliveries = yield* Deliveries
  const handlers: Handlers<"changesets"> = {
    get: ({ path, principal }) => changesets.get(principal, path.changeset_id),
    diff: ({ path, principal, query }) => changesets.diff(principal, path.changeset_id, query),
    files: ({ path, principal, query }) => changesets.files(principal, path.changeset_id, query.path),
    listDeliveries: ({ path, principal, query }) => deliveries.list(principal, path.changeset_id, query),
    deliver: ({ body, path, principal }) => deliveries.request(principal, path.changeset_id, body)
  }
  return handlers
})

export const deliveriesHandlers = Effect.map(
  Deliveries,
  (deliveries): Handlers<"deliveries"> => ({
    get: ({ path, principal }) => deliveries.get(principal, path.delivery_id),
    retry: ({ path, principal }) => deliveries.retry(principal, path.delivery_id)
  })
)
