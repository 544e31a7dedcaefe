import { eventKinds, type PayloadsOf } from "@reins/base/domain/Event"
import { field } from "@reins/base/domain/Field"
import { MergeRequestId } from "@reins/base/domain/Ids"
import { Schema } from "effect"
import { MergeRequestReason, MergeRequestState } from "./rows/MergeRequest.js"
import { RequestSums } from "./rows/RequestStanding.js"

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

/** The events of merge requests. */
export const mergeRequestEvents = eventKinds({
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
  interface EventPayloads extends PayloadsOf<typeof mergeRequestEvents> {}
}
