import type { WorkspaceId } from "@reins/base/domain/Ids"
import type { CarePrincipal } from "@reins/base/domain/Principal"
import { Effect } from "effect"
import { Access } from "../access/Access.js"
import { ApiKeyStore } from "../identity/ApiKeyStore.js"
import type { CareRow } from "./CareStore.js"

/** A care as a caller. */
export const carePrincipal = (row: CareRow, workspaceId: WorkspaceId): CarePrincipal => ({
  accountId: row.acts_for,
  scopes: ["read", "write"],
  workspaceId,
  via: { kind: "care", mergeRequestId: row.merge_request_id, keyId: row.api_key_id }
})

/** Gives the function that says whether a care may work now. Its account is asked as in a request of its own. */
export const makeCareMayAct = Effect.gen(function* () {
  const access = yield* Access
  const keys = yield* ApiKeyStore
  return Effect.fnUntraced(function* (row: CareRow, workspaceId: WorkspaceId) {
    if (!(yield* keys.mayActFor(row.acts_for, row.api_key_id))) return false
    return yield* Effect.isSuccess(access.write(carePrincipal(row, workspaceId), workspaceId))
  })
})
