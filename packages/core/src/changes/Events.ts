import { eventKinds, type PayloadsOf } from "@reins/base/domain/Event"
import { field } from "@reins/base/domain/Field"
import { ApplicationId, MergeRequestId, SessionId } from "@reins/base/domain/Ids"
import { Schema } from "effect"
import { ApplicationReason, ApplicationState, ApplicationStrategy } from "./Application.js"
import { ChangesetOrigin, ChangesetState } from "./Changeset.js"
import { DeliveryReason, DeliveryState, DeliveryStep } from "./Delivery.js"
import { RequestSums } from "./looks/RequestStanding.js"
import { MergeRequestReason, MergeRequestState } from "./MergeRequest.js"

const ApplicationPayload = Schema.Struct({
  application_id: field(ApplicationId, "The application that ended."),
  source_session_id: field(SessionId, "The session that the changeset comes from."),
  strategy: field(ApplicationStrategy, "How the changes were brought in."),
  dry_run: field(Schema.Boolean, "True when nothing was written."),
  state: field(ApplicationState, "How the application ended."),
  changed_count: field(Schema.Int, "The number of paths that were written, or would be."),
  conflict_count: field(Schema.Int, "The number of paths that conflict."),
  conflicts: field(Schema.Array(Schema.String), "The first 100 paths that conflict."),
  reason: field(Schema.NullOr(ApplicationReason), "Why the application failed; null otherwise."),
  reason_message: field(
    Schema.NullOr(Schema.String),
    "A sentence for people: what happened and what to do next. Null when there is no reason."
  )
}).annotations({
  identifier: "ApplicationPayload",
  description: "The end of an application. The application itself lists every path."
})

const ChangesetPayload = Schema.Struct({
  state: field(ChangesetState, "Where the capture stands."),
  origin: field(ChangesetOrigin, "The way in which it was captured."),
  subject_digest: field(Schema.NullOr(Schema.String), "The digest of the sealed change; null until `ready`."),
  empty: field(Schema.Boolean, "True when nothing differs from the base commit."),
  file_count: field(Schema.Int, "The number of files that differ."),
  additions: field(Schema.Int, "The number of added lines."),
  deletions: field(Schema.Int, "The number of deleted lines."),
  reason: field(Schema.NullOr(Schema.String), "Why the capture failed, as a sentence; null otherwise.")
}).annotations({
  identifier: "ChangesetPayload",
  description: "The capture of a changeset, without its list of files."
})

const DeliveryPayload = Schema.Struct({
  state: field(DeliveryState, "Where the delivery stands."),
  reason: field(Schema.NullOr(DeliveryReason), "Why it failed or is blocked; null otherwise."),
  reason_message: field(
    Schema.NullOr(Schema.String),
    "A sentence for people: what happened and what to do next. Null when there is no reason."
  ),
  target_ref: field(Schema.String, "The branch, without `refs/heads/`."),
  commit: field(Schema.NullOr(Schema.String), "The commit that was made for the changeset; null until then."),
  step: field(Schema.NullOr(DeliveryStep), "The step that was made; null when the event is no step.")
}).annotations({ identifier: "DeliveryPayload", description: "A delivery after what happened to it." })

const MergeRequestPayload = Schema.Struct({
  merge_request_id: field(MergeRequestId, "The merge request that it happened to."),
  state: field(MergeRequestState, "Where it stands."),
  reason: field(Schema.NullOr(MergeRequestReason), "Why the last command did not take effect; null otherwise."),
  reason_message: field(
    Schema.NullOr(Schema.String),
    "A sentence for people: what happened and what to do next. Null when there is no reason."
  ),
  base_branch: field(Schema.String, "The branch that it is to be merged into."),
  number: field(Schema.NullOr(Schema.Int), "The number that the forge shows; null until it is open."),
  web_url: field(Schema.NullOr(Schema.String), "Its page on the forge; null until it is open."),
  head_sha: field(Schema.NullOr(Schema.String), "The commit that it would merge, as last observed; null until then."),
  adopted: field(Schema.Boolean, "True when somebody else had opened it on the forge."),
  standing: field(
    Schema.NullOr(RequestSums),
    "Its checks, reviews, threads and conflicts as sums; null before the first look."
  )
}).annotations({ identifier: "MergeRequestPayload", description: "A merge request after what happened to it." })

/** The events of changesets and the ways that they go. */
export const changeEvents = eventKinds({
  "workspace.applied": {
    payload: ApplicationPayload,
    text: "A changeset was applied to the workspace, or a dry run found that it fits."
  },
  "workspace.apply_conflicted": {
    payload: ApplicationPayload,
    text: "A changeset was not applied, because files stand in the way."
  },
  "workspace.apply_failed": {
    payload: ApplicationPayload,
    text: "A changeset could not be applied, for a reason other than its files."
  },
  "changeset.capture_requested": { payload: ChangesetPayload, text: "The workspace is being captured." },
  "changeset.ready": {
    payload: ChangesetPayload,
    text: "The changeset is sealed: its diff can be read, and it can be delivered."
  },
  "changeset.failed": { payload: ChangesetPayload, text: "The capture failed." },
  "delivery.requested": { payload: DeliveryPayload, text: "A delivery waits for its worker, at first or again." },
  "delivery.progressed": {
    payload: DeliveryPayload,
    text: "The delivery is being made. `step` is what was just done."
  },
  "delivery.succeeded": { payload: DeliveryPayload, text: "The branch is on the remote, or the patch is made." },
  "delivery.failed": { payload: DeliveryPayload, text: "The delivery failed, and can be retried." },
  "delivery.blocked": {
    payload: DeliveryPayload,
    text: "The delivery waits for somebody to mend its `reason`. A retry or a refresh makes it go on."
  },
  "delivery.cancelled": { payload: DeliveryPayload, text: "The delivery was stopped before it pushed." },
  "merge_request.requested": { payload: MergeRequestPayload, text: "A merge request is to be opened." },
  "merge_request.opened": {
    payload: MergeRequestPayload,
    text: "The merge request is open on the forge. `adopted` is true when somebody else had opened it."
  },
  "merge_request.merge_requested": { payload: MergeRequestPayload, text: "The merge request is to be merged." },
  "merge_request.merge_failed": {
    payload: MergeRequestPayload,
    text: "The forge declined the merge. The merge request stays open."
  },
  "merge_request.merged": { payload: MergeRequestPayload, text: "The merge request is merged." },
  "merge_request.closed": {
    payload: MergeRequestPayload,
    text: "The merge request was closed on the forge without a merge."
  },
  "merge_request.failed": { payload: MergeRequestPayload, text: "The merge request could not be opened." },
  "merge_request.head_changed": { payload: MergeRequestPayload, text: "The merge request has another head." },
  "merge_request.base_changed": {
    payload: MergeRequestPayload,
    text: "Somebody has changed the base branch on the forge. Merge conditions for the earlier one are given up."
  },
  "merge_request.checks_changed": {
    payload: MergeRequestPayload,
    text: "A check of the head has begun or ended, or the checks can be read no more, or again."
  },
  "merge_request.reviewed": { payload: MergeRequestPayload, text: "A review is new, or has changed." },
  "merge_request.commented": {
    payload: MergeRequestPayload,
    text: "Somebody else has written a comment, or a thread was resolved or opened again."
  },
  "merge_request.readiness_requested": {
    payload: MergeRequestPayload,
    text: "The merge request is to be a draft, or ready for review. `draft_wanted` of the merge request says which."
  },
  "merge_request.readiness_changed": {
    payload: MergeRequestPayload,
    text: "The merge request was made a draft or ready for review on the forge, or it was as somebody has asked for already."
  },
  "merge_request.readiness_failed": {
    payload: MergeRequestPayload,
    text: "The forge did not make it a draft, or ready for review. It stays as it is."
  },
  "merge_request.replied": { payload: MergeRequestPayload, text: "The comment of a person is on the forge." },
  "merge_request.reply_failed": {
    payload: MergeRequestPayload,
    text: "The comment of a person is not on the forge. `reason_message` of the payload says why."
  },
  "merge_request.ready_to_merge": {
    payload: MergeRequestPayload,
    text: "All merge conditions hold at this head, so its merge begins."
  },
  "merge_request.conditions_given_up": {
    payload: MergeRequestPayload,
    text: "The merge conditions were given up, so a person has to decide. `conditions` of the merge request gives the reason."
  },
  "merge_request.conflicted": {
    payload: MergeRequestPayload,
    text: "The merge request no longer merges with its base branch."
  }
})

declare module "@reins/base/domain/Event" {
  interface EventPayloads extends PayloadsOf<typeof changeEvents> {}
}
