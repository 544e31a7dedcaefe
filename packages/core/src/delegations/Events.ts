import { eventKinds, type PayloadsOf } from "@reins/base/domain/Event"
import { field } from "@reins/base/domain/Field"
import { ChangesetId, MessageId, ResultId, SessionId, TurnId, WaitId } from "@reins/base/domain/Ids"
import { Schema } from "effect"
import { DelegationReason, DelegationState, ResultKind } from "./Delegation.js"

const DelegationPayload = Schema.Struct({
  state: field(DelegationState, "Where the delegation stands."),
  role: field(Schema.String, "The part that the child plays."),
  child_session_id: field(SessionId, "The session that works."),
  reason: field(Schema.NullOr(DelegationReason), "Why it failed or was cancelled; null otherwise."),
  reason_message: field(
    Schema.NullOr(Schema.String),
    "A sentence for people: what happened and what to do next. Null when there is no reason."
  )
}).annotations({ identifier: "DelegationPayload", description: "A delegation after what happened to it." })

const DelegationMessagePayload = Schema.Struct({
  child_session_id: field(SessionId, "The session that works."),
  message_id: field(MessageId, "The message, in the child session.")
}).annotations({
  identifier: "DelegationMessagePayload",
  description: "A message that went to the child session; it is in the log of that session."
})

const DelegationAskPayload = Schema.Struct({
  role: field(Schema.String, "The part that the child plays."),
  child_session_id: field(SessionId, "The session that works for this one."),
  asking_session_id: field(SessionId, "The session that waits: the child, or one that works for it."),
  asking_turn_id: field(TurnId, "The turn that waits.")
}).annotations({
  identifier: "DelegationAskPayload",
  description: "A delegation whose work waits for a person."
})

const DelegationResultPayload = Schema.Struct({
  result_id: field(ResultId, "The result that was given."),
  kind: field(ResultKind, "The kind of work that the result reports."),
  verdict: field(Schema.NullOr(Schema.String), "The judgement; null for none."),
  changeset_id: field(Schema.NullOr(ChangesetId), "The changes that belong to the result; null for none.")
}).annotations({
  identifier: "DelegationResultPayload",
  description: "The result of a delegation, without its words and its value."
})

const WaitPayload = Schema.Struct({
  wait_id: field(WaitId, "The wait that is over."),
  message_id: field(MessageId, "The message that was posted to this session.")
}).annotations({ identifier: "WaitPayload", description: "The end of a wait that was to wake the session." })

/** The events of delegations. */
export const delegationEvents = eventKinds({
  "delegation.created": {
    payload: DelegationPayload,
    text: "The session has delegated a part of its work to a child session."
  },
  "delegation.active": { payload: DelegationPayload, text: "The child session works." },
  "delegation.action_required": {
    payload: DelegationAskPayload,
    text: "An agent that works for the session waits for an answer of a person. `GET /api/sessions/{asking_session_id}/interactions` has the question."
  },
  "delegation.action_resolved": {
    payload: DelegationAskPayload,
    text: "An agent that works for the session waits for nobody any more."
  },
  "delegation.message_sent": { payload: DelegationMessagePayload, text: "A message went to the child session." },
  "delegation.result_published": { payload: DelegationResultPayload, text: "The result of the delegation is there." },
  "delegation.succeeded": { payload: DelegationPayload, text: "The delegation ended with a result." },
  "delegation.failed": { payload: DelegationPayload, text: "The delegation ended without a result." },
  "delegation.cancelled": { payload: DelegationPayload, text: "The delegation was cancelled." },
  "delegation.wait_satisfied": {
    payload: WaitPayload,
    text: "A wait that wakes the session has ended, and its message is in the session."
  },
  "delegation.wait_expired": {
    payload: WaitPayload,
    text: "A wait that wakes the session has ended, because the deadline of the delegation passed."
  }
})

declare module "@reins/base/domain/Event" {
  interface EventPayloads extends PayloadsOf<typeof delegationEvents> {}
}
