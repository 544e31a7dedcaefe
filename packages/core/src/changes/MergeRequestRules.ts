import { canChange } from "../access/Access.js"
import { actionsOf, type Condition, type Rules } from "../domain/Condition.js"
import type { Page } from "../domain/Page.js"
import type { Principal } from "../domain/Principal.js"
import { ReinsError } from "../domain/ReinsError.js"
import type { Role } from "../domain/Role.js"
import * as Keyset from "../store/Keyset.js"
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
  merge: [isOpen],
  set_conditions: [mayBeMerged],
  remove_conditions: [hasConditions, mayBeMerged]
} satisfies Rules<MergeRequest, MergeRequestAction>

const actions = actionsOf<MergeRequest, MergeRequestAction>(mergeRequestRules)

/** The merge request as the principal reads it, in a session that the principal may see. */
export const toMergeRequestFor =
  (principal: Principal, { role }: { readonly role: Role }) =>
  (request: MergeRequest): ActionableMergeRequest => ({
    ...request,
    actions: canChange(principal, role) ? actions(request) : []
  })

/** A page of merge requests in the same way. */
export const toMergeRequestsFor =
  (principal: Principal, seen: { readonly role: Role }) =>
  (page: Page<MergeRequest>): Page<ActionableMergeRequest> =>
    Keyset.map(page, toMergeRequestFor(principal, seen))
