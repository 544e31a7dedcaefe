import { Effect } from "effect"
import type { Operations } from "../store/Operation.js"
import { Deliveries } from "./Deliveries.js"
import type { ChangesetDeliveriesApi, DeliveriesApi } from "./DeliveriesApi.js"
import type { operationErrors } from "./Errors.js"
import { SigningKeys } from "./signing/SigningKeys.js"
import type { SigningKeysApi } from "./signing/SigningKeysApi.js"

export const changesets = Effect.gen(function* () {
  const deliveries = yield* Deliveries
  const operations: Operations<typeof ChangesetDeliveriesApi, typeof operationErrors> = {
    listDeliveries: ({ path, principal, query }) => deliveries.list(principal, path.changeset_id, query),
    deliver: ({ body, path, principal }) => deliveries.request(principal, path.changeset_id, body)
  }
  return operations
})

export const deliveries = Effect.gen(function* () {
  const deliveries = yield* Deliveries
  const operations: Operations<typeof DeliveriesApi, typeof operationErrors> = {
    get: ({ path, principal }) => deliveries.get(principal, path.delivery_id),
    retry: ({ path, principal }) => deliveries.retry(principal, path.delivery_id),
    refresh: ({ path, principal }) => deliveries.refresh(principal, path.delivery_id),
    cancel: ({ path, principal }) => deliveries.cancel(principal, path.delivery_id)
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
