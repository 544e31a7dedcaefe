import type { AutomationPrincipal } from "@reins/base/domain/Principal"
import { Effect } from "effect"
import { Access } from "../access/Access.js"
import { ApiKeyStore } from "../identity/ApiKeyStore.js"
import type { Commanded } from "../store/Oversight.js"
import type { AutomationRow } from "./AutomationStore.js"

/** An automation as a caller. */
export const principalOf = ({ acts_for, api_key_id, id, workspace_id }: AutomationRow): AutomationPrincipal => ({
  accountId: acts_for,
  scopes: ["read", "write"],
  workspaceId: workspace_id,
  via: { kind: "automation", automationId: id, keyId: api_key_id }
})

/** The beginning of a run, as policy and audit see it. */
export const commandedOf = (row: AutomationRow): Commanded => ({
  name: "Automations.fire",
  by: principalOf(row),
  about: { type: "automation", id: row.id }
})

/** Gives the function that says whether an automation may start work now. Its account is asked as in a request of its own. */
export const makeMayAct = Effect.gen(function* () {
  const access = yield* Access
  const keys = yield* ApiKeyStore
  return Effect.fnUntraced(function* (row: AutomationRow) {
    if (!(yield* keys.mayActFor(row.acts_for, row.api_key_id))) return false
    return yield* Effect.isSuccess(access.write(principalOf(row), row.workspace_id))
  })
})
