import { field } from "@reins/base/domain/Field"
import { MessageId, SessionId, TurnId } from "@reins/base/domain/Ids"
import * as StateMachine from "@reins/base/domain/StateMachine"
import { Timestamp } from "@reins/base/domain/Timestamp"
import { Schema } from "effect"
import { Budget } from "../../budgets/Budget.js"
import { Usage } from "./Session.js"
import { TurnResult } from "./TurnResult.js"

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
).annotations({
  description:
    "`queued`, `preparing`, `running`, `requires_action` and `cancelling` go on; the other states are ends. The end of an `interrupted` turn cannot be proven."
})
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

/** True for a turn that has left the queue and whose agent is not told to stop. What is said to it then goes into the turn. */
export const isSteerable = (state: TurnState): boolean => state === "preparing" || isStarted(state)

/** The states of a turn that can still be cancelled. */
export const cancellableTurnStates = [
  waitingTurnState,
  "preparing",
  ...startedTurnStates
] as const satisfies ReadonlyArray<TurnState>

/** The state of a turn whose end nobody saw. It holds the queue until it is acknowledged. */
export const unprovenTurnState = "interrupted" satisfies TurnState

export const TurnReason = Schema.Literal(
  "waiting_capacity",
  "executor_unavailable",
  "credential_invalid",
  "quota_exhausted",
  "budget_exhausted",
  "budget_unenforceable",
  "timeout",
  "harness_crashed",
  "service_restart",
  "outcome_unknown",
  "user_cancelled",
  "access_lost",
  "approval_expired",
  "output_invalid",
  "upstream_error",
  "context_unavailable",
  "context_exceeded",
  "answer_cut",
  "answer_withheld",
  "connection_required",
  "result_missing",
  "result_invalid"
).annotations({
  description:
    "The reason for the state of a turn. `interrupted` with `outcome_unknown` or `service_restart` means that the end cannot be proven."
})
export type TurnReason = typeof TurnReason.Type

export const Turn = Schema.Struct({
  id: field(TurnId, "The id of the turn."),
  session_id: field(SessionId, "The session that the turn belongs to."),
  ordinal: field(Schema.Int, "The number of the turn in its session, counted from 1."),
  message_id: field(MessageId, "The message that it works on."),
  state: field(TurnState, "Where the turn stands."),
  reason: field(Schema.NullOr(TurnReason), "The reason for the state; null when there is nothing to tell."),
  reason_message: field(
    Schema.NullOr(Schema.String),
    "A sentence for people: what happened, and what to do next. Null when there is no reason."
  ),
  outcome: field(
    Schema.NullOr(
      Schema.Struct({
        message_id: field(
          Schema.NullOr(MessageId),
          "The message that holds what the agent said and did; null when it did nothing."
        ),
        stop_reason: field(
          Schema.String,
          "The agent's word for its end, as in `completed`. `denied` means that the agent was refused what it had asked for and then ended without another word or finished tool."
        )
      })
    ),
    "What came out; null until the agent has ended."
  ),
  usage: field(Usage, "What the turn has used, however it ended; nothing until its end."),
  settings: field(
    Schema.Struct({
      provider_id: field(Schema.String, "The provider, as `GET /api/harnesses` lists it."),
      model: field(Schema.NullOr(Schema.String), "The model; null for the preference of the connection.")
    }),
    "What the turn runs with, as it was when it began."
  ),
  retry_of_turn_id: field(Schema.NullOr(TurnId), "The turn that this one tries again; null for none."),
  acknowledged_at: field(
    Schema.NullOr(Timestamp),
    "An interrupted turn holds the queue until this is set. Null until then and for every other turn."
  ),
  created_at: field(Timestamp, "The time at which it was queued."),
  started_at: field(Schema.NullOr(Timestamp), "The time at which it left the queue; null while it waits."),
  finished_at: field(Schema.NullOr(Timestamp), "The time of its end; null while it goes on.")
}).annotations({
  identifier: "TurnSnapshot",
  description: "The work of the agent on one message, as its events tell of it."
})
export type Turn = typeof Turn.Type

export const TurnAction = Schema.Literal("acknowledge", "cancel", "retry", "update").annotations({
  description: "A command on a turn that its caller can give."
})
export type TurnAction = typeof TurnAction.Type

/** A turn as clients read it, with what they can do with it. */
export const ActionableTurn = Schema.Struct({
  ...Turn.fields,
  budget: field(
    Schema.NullOr(Budget),
    "What the model calls of the turn may spend, and have spent; null for no limit of its own."
  ),
  result: field(
    Schema.NullOr(TurnResult),
    "The result that the message asked for with `result_schema`, once one was accepted; null for none."
  ),
  actions: field(
    Schema.Array(TurnAction),
    "What the caller can do with the turn now: its state and that of its session, the role and the scope of the credentials allow it. Cancelling and acknowledging once more is allowed and changes nothing. Empty for credentials that may only read."
  )
}).annotations({
  identifier: "Turn",
  description: "The work of the agent on one message, with what the caller can do with it."
})
export type ActionableTurn = typeof ActionableTurn.Type

/** True for an interrupted turn that nobody has acknowledged: no turn behind it starts. */
export const holdsQueue = (turn: Pick<Turn, "state" | "acknowledged_at">): boolean =>
  turn.state === unprovenTurnState && turn.acknowledged_at === null
