import type { Actor, EventType, NewEvent } from "@reins/base/domain/Event"
import type { ApiKeyId, JobId } from "@reins/base/domain/Ids"
import type { Interaction } from "../rows/Interaction.js"
import { type Usage, usageOf } from "../rows/Session.js"
import { askingTurnState, type Turn, type TurnReason, type TurnState } from "../rows/Turn.js"

/** A turn as it is stored. */
export interface TurnRow extends Omit<Turn, "outcome" | "usage" | "settings"> {
  readonly job_id: JobId
  /** The API key that it counts for; null for none. */
  readonly api_key_id: ApiKeyId | null
  readonly outcome: string | null
  readonly usage: string
  readonly settings: string
  /** The actor who has asked for a turn that tries another one again; null for a turn of its message. */
  readonly asked_by?: string | null
}

/** The columns of a turn that a move sets besides the state. */
export interface TurnEnd {
  readonly reason?: TurnReason
  readonly reasonMessage?: string
  readonly outcome?: Turn["outcome"]
  /** The usage by the agent's own report. A turn whose model calls the relay has seen has the usage of these instead. */
  readonly usage?: Usage
  /** The question of the agent. A move to `requires_action`, and the move back to `running`, come with it, and no other move does. */
  readonly interaction?: Interaction
}

/** The end of a turn that was cancelled after it had left the queue. */
export const userCancelled = { reason: "user_cancelled", reasonMessage: "The turn was cancelled." } as const

/** The end of a turn whose account or key has lost the right to act. */
export const accessLost = {
  reason: "access_lost",
  reasonMessage:
    "Whoever sent the message may not act here any more: the API key was revoked or has expired, or the account or its membership has ended. Somebody who may has to send the message again."
} as const

/** The end of a turn that was asked to stop. The first one who asks gives the reason. */
export const stopOf = ({ reason }: Pick<Turn, "reason">) => (reason === accessLost.reason ? accessLost : userCancelled)

/** The turn of a row as clients see it. */
export const toTurn = ({
  api_key_id: _key,
  asked_by: _asker,
  job_id: _job,
  outcome,
  settings,
  usage,
  ...row
}: TurnRow): Turn => ({
  ...row,
  outcome: outcome === null ? null : JSON.parse(outcome),
  usage: usageOf(usage),
  settings: JSON.parse(settings)
})

/** The row of a new turn that an actor has asked for, whose job and API key are given. */
export const toRow = (turn: Turn, actor: Actor, jobId: JobId, keyId: ApiKeyId | null) => ({
  ...turn,
  asked_by: turn.retry_of_turn_id === null ? null : JSON.stringify(actor),
  outcome: turn.outcome === null ? null : JSON.stringify(turn.outcome),
  usage: JSON.stringify(turn.usage),
  settings: JSON.stringify(turn.settings),
  job_id: jobId,
  api_key_id: keyId
})

const eventTypes = {
  queued: "turn.queued",
  preparing: "turn.preparing",
  running: "turn.started",
  cancelling: "turn.cancel_requested",
  succeeded: "turn.succeeded",
  failed: "turn.failed",
  cancelled: "turn.cancelled",
  interrupted: "turn.interrupted"
} as const satisfies Record<Exclude<TurnState, typeof askingTurnState>, EventType>

/** The event of a turn that has moved. A move to and from `requires_action` tells of an interaction, and throws without one. */
export const movedEvent = (from: TurnState, turn: Turn, interaction: Interaction | undefined): NewEvent => {
  const { state } = turn
  if (state === askingTurnState || (state === "running" && from === askingTurnState)) {
    if (interaction === undefined) throw new TypeError("a turn waits for an interaction only")
    return actionEvent(turn, interaction)
  }
  return { type: eventTypes[state], payload: { turn } }
}

/** The event of a turn whose agent asks something, or has its answer. */
export const actionEvent = (turn: Turn, interaction: Interaction): NewEvent => ({
  type: interaction.state === "pending" ? "turn.action_required" : "turn.action_resolved",
  payload: { turn, interaction }
})
