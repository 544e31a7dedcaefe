import { Schema } from "effect"
import { MessageId, SessionId, TurnId } from "./Ids.js"
import { Usage } from "./Session.js"
import * as StateMachine from "./StateMachine.js"
import { Timestamp } from "./Timestamp.js"

/** The state of a turn, from the queue to its end. */
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

/** The moves of a turn, which `TurnStore` makes. */
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

/** The state of a turn that waits for its time. */
export const waitingTurnState = "queued" satisfies TurnState

/** The state of a turn whose agent waits for a person. */
export const askingTurnState = "requires_action" satisfies TurnState

/** The states of a turn that has left the queue and has not ended. A session has one such turn at most. */
export const liveTurnStates = [
  "preparing",
  "running",
  askingTurnState,
  "cancelling"
] as const satisfies ReadonlyArray<TurnState>

/** The states of a turn whose agent was asked and is not told to stop: it works, or waits for a person. */
export const startedTurnStates = ["running", askingTurnState] as const satisfies ReadonlyArray<TurnState>

/** True for one of `startedTurnStates`. */
export const isStarted = (state: TurnState): state is (typeof startedTurnStates)[number] =>
  startedTurnStates.some((started) => started === state)

/** The states of a turn that can still be cancelled. */
export const cancellableTurnStates = [
  waitingTurnState,
  "preparing",
  ...startedTurnStates
] as const satisfies ReadonlyArray<TurnState>

/** The state of a turn whose end nobody saw. It holds the queue until it is acknowledged. */
export const unprovenTurnState = "interrupted" satisfies TurnState

/** The reason for the state of a turn. `interrupted` with `outcome_unknown` or `service_restart` means that the end cannot be proven. */
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

/** The work of the agent on one message, as its events tell of it. `ordinal` counts the turns of a session from 1. */
export const Turn = Schema.Struct({
  id: TurnId,
  session_id: SessionId,
  ordinal: Schema.Int,
  message_id: MessageId,
  state: TurnState,
  reason: Schema.NullOr(TurnReason),
  /** A sentence for people: what happened, and what to do next. */
  reason_message: Schema.NullOr(Schema.String),
  outcome: Schema.NullOr(
    Schema.Struct({
      /** The message that holds the agent's words; null when it said nothing. */
      message_id: Schema.NullOr(MessageId),
      /** `denied` means that the agent was refused what it had asked for and then ended without another word or finished tool. */
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
}).annotations({ identifier: "TurnSnapshot" })
export type Turn = typeof Turn.Type

/** The commands on a turn that its caller can give. */
export const TurnAction = Schema.Literal("acknowledge", "cancel", "retry")
export type TurnAction = typeof TurnAction.Type

/** A turn as clients read it, with what they can do with it. */
export const ActionableTurn = Schema.Struct({
  ...Turn.fields,
  actions: Schema.Array(TurnAction).annotations({
    description:
      "What the caller can do with the turn now: its state and that of its session, the role and the scope of the credentials allow it. " +
      "Cancelling and acknowledging once more is allowed and changes nothing. Empty for credentials that may only read."
  })
}).annotations({ identifier: "Turn" })
export type ActionableTurn = typeof ActionableTurn.Type

/** True for an interrupted turn that nobody has acknowledged: no turn behind it starts. */
export const holdsQueue = (turn: Pick<Turn, "state" | "acknowledged_at">): boolean =>
  turn.state === unprovenTurnState && turn.acknowledged_at === null
