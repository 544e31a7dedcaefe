import { eventKinds, type PayloadsOf } from "@reins/base/domain/Event"
import { field } from "@reins/base/domain/Field"
import { AttentionId, MergeRequestId } from "@reins/base/domain/Ids"
import { Schema } from "effect"
import { CareState } from "../requests/rows/CareState.js"
import { CareOutcome } from "./Care.js"

const CarePayload = Schema.Struct({
  merge_request_id: field(MergeRequestId, "The merge request that is cared for."),
  attention_id: field(Schema.NullOr(AttentionId), "The attention that it is about; null for none."),
  state: field(CareState, "Where the care stands."),
  reason: field(Schema.NullOr(CareOutcome), "Why it was handed over or has ended; null otherwise."),
  reason_message: field(
    Schema.NullOr(Schema.String),
    "A sentence for people: what happened and what to do next. Null when there is no reason."
  ),
  turns: field(Schema.Int, "The turns so far."),
  max_turns: field(Schema.Int, "The most turns."),
  head_sha: field(Schema.NullOr(Schema.String), "The head of the merge request, as last observed; null until then."),
  commit: field(Schema.NullOr(Schema.String), "The commit that was pushed; null for none.")
}).annotations({ identifier: "CarePayload", description: "The care for a merge request after what happened to it." })

/** The events of the care for merge requests. */
export const careEvents = eventKinds({
  "merge_request.care_began": {
    payload: CarePayload,
    text: "A turn of the session works on what the merge request needs."
  },
  "merge_request.care_proposed": {
    payload: CarePayload,
    text: "A turn has made a change that a person delivers, or does not."
  },
  "merge_request.care_delivered": { payload: CarePayload, text: "The work of a turn is on the branch." },
  "merge_request.care_handed_over": { payload: CarePayload, text: "A person has to go on. `reason` says why." },
  "merge_request.care_ended": { payload: CarePayload, text: "The merge request is no longer cared for." }
})

declare module "@reins/base/domain/Event" {
  interface EventPayloads extends PayloadsOf<typeof careEvents> {}
}
