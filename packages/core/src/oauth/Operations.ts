import { Effect } from "effect"
import type { Operations } from "../store/Operation.js"
import type { operationErrors } from "./Errors.js"
import type { OauthGrantsApi } from "./OauthApi.js"
import { OauthGrants } from "./OauthGrants.js"

export const oauthGrants = Effect.gen(function* () {
  const grants = yield* OauthGrants
  const operations: Operations<typeof OauthGrantsApi, typeof operationErrors> = {
    list: ({ principal, query }) => grants.list(principal, query),
    revoke: ({ path, principal }) => grants.revoke(principal, path.oauth_grant_id)
  }
  return operations
})
