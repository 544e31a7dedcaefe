import { Effect } from "effect"
import type { Operations } from "../store/Operation.js"
import type { operationErrors } from "./Errors.js"
import { Shares } from "./Shares.js"
import type { SessionSharesApi, SharesApi } from "./SharesApi.js"

export const sessions = Effect.gen(function* () {
  const shares = yield* Shares
  const operations: Operations<typeof SessionSharesApi, typeof operationErrors> = {
    listShares: ({ path, principal, query }) => shares.list(principal, path.session_id, query),
    share: ({ body, path, principal }) => shares.share(principal, path.session_id, body)
  }
  return operations
})

export const shares = Effect.gen(function* () {
  const shares = yield* Shares
  const operations: Operations<typeof SharesApi, typeof operationErrors> = {
    get: ({ path, principal }) => shares.get(principal, path.share_id),
    revoke: ({ path, principal }) => shares.revoke(principal, path.share_id)
  }
  return operations
})
