import type { SessionActivity } from "./Session.js"
import type { SessionRow } from "./SessionRow.js"
import { askingTurnState } from "./Turn.js"
import { isAsking, isHolding, isLive, isWaiting } from "./TurnConditions.js"

/** The activity of a session, as its turns make it. `activityCondition` says the same in SQL. */
export const activityOf = ({ turns }: Pick<SessionRow, "turns">): SessionActivity => {
  if (turns.held > 0) return "attention"
  if (turns.active?.state === askingTurnState) return "requires_action"
  if (turns.active !== null) return "running"
  return turns.queued > 0 ? "queued" : "idle"
}

const turnThat = (condition: string): string =>
  `exists (select 1 from turns where turns.session_id = sessions.id and ${condition})`

const held = turnThat(isHolding("turns"))
const live = turnThat(isLive("turns"))
const isAskingTurn = turnThat(isAsking("turns"))
const isWaitingTurn = turnThat(isWaiting("turns"))

const conditions: Record<SessionActivity, string> = {
  attention: held,
  requires_action: `${isAskingTurn} and not ${held}`,
  // A session has one live turn at most.
  running: `${live} and not ${isAskingTurn} and not ${held}`,
  queued: `${isWaitingTurn} and not ${live} and not ${held}`,
  idle: `not ${isWaitingTurn} and not ${live} and not ${held}`
}

/** The condition, on a row of `sessions`, that its activity is the given one. */
export const activityCondition = (activity: SessionActivity): string => conditions[activity]
