import { Schema } from "effect"
import { ChangesetId, ConnectionId, DeliveryId, MergeRequestId, SessionId } from "./Ids.js"
import { installed } from "./Installed.js"
import * as StateMachine from "./StateMachine.js"
import { Timestamp } from "./Timestamp.js"

/** `pending`: not on the forge yet. `failed`: it could not be opened there. */
export const MergeRequestState = Schema.Literal("pending", "open", "merged", "closed", "failed")
export type MergeRequestState = typeof MergeRequestState.Type

/** The moves of a merge request. */
export const mergeRequestStates = /* @__PURE__ */ StateMachine.make<MergeRequestState>("merge request", {
  pending: ["open", "failed"],
  open: ["merged", "closed"],
  merged: [],
  closed: [],
  failed: []
})

/** `rejected`: the forge declines the request as it is. `not_mergeable`: it declines the merge, and `reason_message` gives its words. */
export const MergeRequestReason = Schema.Literal(
  "auth_required",
  "remote_head_changed",
  "not_mergeable",
  "rejected",
  "rate_limited",
  "remote_unavailable"
)
export type MergeRequestReason = typeof MergeRequestReason.Type

/** The ways to merge. A forge may lack some. */
export const MergeMethod = Schema.Literal("merge", "squash", "rebase")
export type MergeMethod = typeof MergeMethod.Type

/** The merge request of a delivered branch on its forge, as it was last observed. */
export const MergeRequest = Schema.Struct({
  id: MergeRequestId,
  delivery_id: DeliveryId,
  changeset_id: ChangesetId,
  session_id: SessionId,
  connection_id: ConnectionId,
  forge: installed("forges"),
  /** The path of the repository on the forge, as in `owner/name`. */
  repository: Schema.String,
  head_branch: Schema.String,
  base_branch: Schema.String,
  title: Schema.String,
  description: Schema.String,
  draft: Schema.Boolean,
  state: MergeRequestState,
  /** The reason for which the last command did not take effect. A merge request stays open when its merge is declined. */
  reason: Schema.NullOr(MergeRequestReason),
  reason_message: Schema.NullOr(Schema.String),
  /** The number that the forge shows: of a pull request, or the `iid` of a GitLab merge request. */
  number: Schema.NullOr(Schema.Int),
  web_url: Schema.NullOr(Schema.String),
  head_sha: Schema.NullOr(Schema.String),
  /** Somebody else had opened it on the forge, so none was opened beside it. */
  adopted: Schema.Boolean,
  observed_at: Schema.NullOr(Timestamp),
  version: Schema.Int,
  created_at: Timestamp,
  updated_at: Timestamp
}).annotations({ identifier: "MergeRequest" })
export type MergeRequest = typeof MergeRequest.Type
