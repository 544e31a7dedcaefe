import { Schema } from "effect"
import { MessageId, SessionId, TurnId } from "./Ids.js"
import { Usage } from "./Session.js"
import * as StateMachine from "./StateMachine.js"
import { Timestamp } from "./Timestamp.js"

export const TurnState = Schema.Literal(
  "queued",
  "preparing",
  "running",
  "requires_action",
  "cancelling",
  "succeeded",
  "failed",
  "cancelled",
  "interrupted"
)
export type TurnState = typeof TurnState.Type

export const turnStates = StateMachine.make<TurnState>("turn", {
  queued: ["preparing", "cancelled"],
  preparing: ["running", "queued", "failed", "cancelling", "interrupted"],
  running: ["requires_action", "succeeded", "failed", "interrupted", "cancelling"],
  requires_action: ["running", "failed", "interrupted", "cancelling"],
  cancelling: ["cancelled", "interrupted"],
  succeeded: [],
  failed: [],
  cancelled: [],
  interrupted: []
})

/** The reason for the state of a turn. `interrupted` with `outcome_unknown` or `service_restart` tells that its end cannot be proven. */
export const TurnReason = Schema.Literal(
  "waiting_capacity",
  "executor_unavailable",
  "credential_invalid",
  "quota_exhausted",
  "timeout",
  "harness_crashed",
  "service_restart",
  "outcome_unknown",
  "user_cancelled",
  "approval_expired",
  "output_invalid",
  "upstream_error",
  "context_unavailable",
  "connection_required"
)
export type TurnReason = typeof TurnReason.Type

export const Turn = Schema.Struct({
  id: TurnId,
  session_id: SessionId,
  ordinal: Schema.Int,
  message_id: MessageId,
  state: TurnState,
  reason: Schema.NullOr(TurnReason),
  /** A message for a person: what happened, and what to do next. */
  reason_message: Schema.NullOr(Schema.String),
  outcome: Schema.NullOr(
    Schema.Struct({
      /** The agent's last message. */
      message_id: Schema.NullOr(MessageId),
      /** `denied`: the agent ended after it was refused what it had asked for, without another word or finished tool. */
      stop_reason: Schema.String
    })
  ),
  usage: Usage,
  settings: Schema.Struct({ provider_id: Schema.String, model: Schema.NullOr(Schema.String) }),
  retry_of_turn_id: Schema.NullOr(TurnId),
  /** An interrupted turn holds the queue until this is set. */
  acknowledged_at: Schema.NullOr(Timestamp),
  created_at: Timestamp,
  started_at: Schema.NullOr(Timestamp),
  finished_at: Schema.NullOr(Timestamp)
}).annotations({ identifier: "Turn" })
export type Turn = typeof Turn.Type
