import { field } from "@reins/base/domain/Field"
import { ChangesetId, ConnectionId, DeliveryId, MergeRequestId, SessionId } from "@reins/base/domain/Ids"
import { installed } from "@reins/base/domain/Installed"
import * as StateMachine from "@reins/base/domain/StateMachine"
import { Timestamp } from "@reins/base/domain/Timestamp"
import { Schema } from "effect"
import { CareState } from "./CareState.js"
import { MergeConditions } from "./MergeConditions.js"
import { RequestStanding } from "./RequestStanding.js"

export const MergeRequestState = Schema.Literal("pending", "open", "merged", "closed", "failed").annotations({
  description: "`pending`: not on the forge yet. `failed`: it could not be opened there."
})
export type MergeRequestState = typeof MergeRequestState.Type

/** The moves of a merge request. */
export const mergeRequestStates = /* @__PURE__ */ StateMachine.make<MergeRequestState>("merge request", {
  pending: ["open", "failed"],
  open: ["merged", "closed"],
  merged: [],
  closed: [],
  failed: []
})

export const MergeRequestReason = Schema.Literal(
  "auth_required",
  "remote_head_changed",
  "not_mergeable",
  "rejected",
  "rate_limited",
  "remote_unavailable"
).annotations({
  description:
    "`rejected`: the forge declines the request as it is. `not_mergeable`: it declines the merge, and `reason_message` gives its words."
})
export type MergeRequestReason = typeof MergeRequestReason.Type

export const MergeRequest = Schema.Struct({
  id: field(MergeRequestId, "The id of the merge request."),
  delivery_id: field(DeliveryId, "The delivery whose branch it merges."),
  changeset_id: field(ChangesetId, "The changeset that was delivered."),
  session_id: field(SessionId, "The session that the changeset comes from."),
  connection_id: field(ConnectionId, "The connection that speaks to the forge."),
  forge: field(installed("forges"), "The kind of forge."),
  repository: field(Schema.String, "The path of the repository on the forge, as in `owner/name`."),
  head_branch: field(Schema.String, "The branch that was delivered."),
  base_branch: field(Schema.String, "The branch that it is to be merged into."),
  title: field(Schema.String, "The title on the forge."),
  description: field(Schema.String, "The text on the forge; empty for none."),
  draft: field(Schema.Boolean, "True when it is marked as not ready for review, as last observed."),
  draft_wanted: field(
    Schema.NullOr(Schema.Boolean),
    "The `draft` that somebody has asked for and that is on its way to the forge; null when nobody has."
  ),
  state: field(MergeRequestState, "Where it stands."),
  reason: field(
    Schema.NullOr(MergeRequestReason),
    "The reason for which the last command did not take effect; null when it did. A merge request stays open when its merge is declined."
  ),
  reason_message: field(
    Schema.NullOr(Schema.String),
    "A sentence for people: what happened and what to do next. Null when there is no reason."
  ),
  number: field(
    Schema.NullOr(Schema.Int),
    "The number that the forge shows: of a pull request, or the `iid` of a GitLab merge request. Null until it is open."
  ),
  web_url: field(Schema.NullOr(Schema.String), "Its page on the forge; null until it is open."),
  head_sha: field(Schema.NullOr(Schema.String), "The commit that it would merge, as last observed; null until then."),
  adopted: field(Schema.Boolean, "True when somebody else had opened it on the forge, so none was opened beside it."),
  standing: field(
    Schema.NullOr(RequestStanding),
    "Its checks, reviews, threads and conflicts, as last read; null before the first look."
  ),
  conditions: field(
    Schema.NullOr(MergeConditions),
    "The conditions under which it is merged by itself, and what they wait for; null for none."
  ),
  observed_at: field(
    Schema.NullOr(Timestamp),
    "The time at which the last reading of the forge began; null before the first one."
  ),
  care_state: field(Schema.NullOr(CareState), "Where the care for it stands; null when nobody cares for it."),
  next_look_at: field(
    Schema.NullOr(Timestamp),
    "The time at which the forge is read again at the latest; null when the merge request is not open."
  ),
  version: field(Schema.Int, "Grows by one with each change."),
  created_at: field(Timestamp, "The time at which the merge request was asked for."),
  updated_at: field(Timestamp, "The time of its last change.")
}).annotations({
  identifier: "MergeRequest",
  description: "The merge request of a delivered branch on its forge, as it was last observed."
})
export type MergeRequest = typeof MergeRequest.Type

export const MergeRequestAction = Schema.Literal(
  "look",
  "merge",
  "set_conditions",
  "remove_conditions",
  "rerun",
  "set_readiness",
  "reply"
).annotations({
  description:
    "A command on a merge request that its caller can give. `rerun`: the forge can begin failed checks anew. `set_readiness`: the forge can make it a draft, or ready for review."
})
export type MergeRequestAction = typeof MergeRequestAction.Type

/** A merge request as clients read it, with what they can do with it. */
export const ActionableMergeRequest = Schema.Struct({
  ...MergeRequest.fields,
  actions: field(
    Schema.Array(MergeRequestAction),
    "What the caller can do with the merge request now: its state, the role and the scope of the credentials allow it. The forge has a say of its own. Empty for credentials that may only read."
  )
}).annotations({
  identifier: "MergeRequest",
  description:
    "The merge request of a delivered branch on its forge, as it was last observed, with what the caller can do with it."
})
export type ActionableMergeRequest = typeof ActionableMergeRequest.Type

export const LookAnswer = Schema.Struct({
  merge_request: field(ActionableMergeRequest, "The merge request as it is now."),
  asked_at: field(Timestamp, "The time of this request. The look is done when `observed_at` is not before it.")
}).annotations({ identifier: "LookAnswer", description: "The merge request that is looked at." })
export type LookAnswer = typeof LookAnswer.Type
