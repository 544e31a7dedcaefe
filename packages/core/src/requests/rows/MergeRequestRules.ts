import { actionsOf, type Condition, type Rules } from "@reins/base/domain/Condition"
import type { Page } from "@reins/base/domain/Page"
import type { Principal } from "@reins/base/domain/Principal"
import { ReinsError } from "@reins/base/domain/ReinsError"
import type { Role } from "@reins/base/domain/Role"
import { Forges } from "@reins/machine/forge/Forges"
import { Effect } from "effect"
import { canChange } from "../../access/Access.js"
import * as Keyset from "../../store/Keyset.js"
import {
  type ActionableMergeRequest,
  type MergeRequest,
  type MergeRequestAction,
  mergeRequestStates
} from "./MergeRequest.js"

const isOpen: Condition<MergeRequest, "invalid_transition"> = {
  holds: ({ state }) => mergeRequestStates.allows(state, "merged"),
  refusal: ({ state }) => mergeRequestStates.refusal(state, "merged")
}

/** It may still come to a merge. */
const mayBeMerged: Condition<MergeRequest, "invalid_transition"> = {
  holds: ({ state }) => !mergeRequestStates.isTerminal(state),
  refusal: ({ state }) => mergeRequestStates.refusal(state, "merged")
}

const hasConditions: Condition<MergeRequest, "not_found"> = {
  holds: ({ conditions }) => conditions !== null,
  refusal: () => new ReinsError({ code: "not_found", message: "The merge request has no merge conditions." })
}

/** The conditions of the commands on a merge request. */
export const mergeRequestRules = {
  look: [isOpen],
  reply: [isOpen],
  merge: [isOpen],
  set_conditions: [mayBeMerged],
  remove_conditions: [hasConditions, mayBeMerged]
} satisfies Rules<MergeRequest, Exclude<MergeRequestAction, ForgeAction>>

/** The commands that not every forge can carry out. */
type ForgeAction = "rerun" | "set_readiness"

const actions = actionsOf<MergeRequest, Exclude<MergeRequestAction, ForgeAction>>(mergeRequestRules)

type KnownForges = Pick<Forges["Type"], "find">

/** True for a merge request whose failed checks its forge can begin anew. */
export const canRerun = (forges: KnownForges, { forge }: Pick<MergeRequest, "forge">): boolean =>
  forges.find(forge)?.can.has("rerun") === true

/** True for a merge request that its forge can make a draft, or ready for review. */
export const canSetReadiness = (forges: KnownForges, { forge }: Pick<MergeRequest, "forge">): boolean =>
  forges.find(forge)?.can.has("readiness") === true

const allActions = (forges: KnownForges, request: MergeRequest): ReadonlyArray<MergeRequestAction> => [
  ...actions(request),
  ...(isOpen.holds(request) && canRerun(forges, request) ? ["rerun" as const] : []),
  ...(isOpen.holds(request) && canSetReadiness(forges, request) ? ["set_readiness" as const] : [])
]

/** Gives the functions that show merge requests to principals, in a session that these may see. */
export const mergeRequestViews = Effect.map(Forges, (forges) => {
  const toMergeRequestFor =
    (principal: Principal, { role }: { readonly role: Role }) =>
    (request: MergeRequest): ActionableMergeRequest => ({
      ...request,
      actions: canChange(principal, role) ? allActions(forges, request) : []
    })
  return {
    toMergeRequestFor,
    /** A page of merge requests in the same way. */
    toMergeRequestsFor:
      (principal: Principal, seen: { readonly role: Role }) =>
      (page: Page<MergeRequest>): Page<ActionableMergeRequest> =>
        Keyset.map(page, toMergeRequestFor(principal, seen))
  }
})
