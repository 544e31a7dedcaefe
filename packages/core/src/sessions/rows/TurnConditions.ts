import { stateList } from "../../store/StateList.js"
import { askingTurnState, liveTurnStates, unprovenTurnState, waitingTurnState } from "./Turn.js"

/** The turn has left the queue and has not ended. `turns` is the name of the table in the statement. */
export const isLive = (turns: string): string => `${turns}.state in (${stateList(liveTurnStates)})`

/** The agent of the turn waits for a person. */
export const isAsking = (turns: string): string => `${turns}.state = '${askingTurnState}'`

/** The turn waits for its time. */
export const isWaiting = (turns: string): string => `${turns}.state = '${waitingTurnState}'`

/** The turn was interrupted and nobody has acknowledged it: no turn behind it starts. */
export const isHolding = (turns: string): string =>
  `${turns}.state = '${unprovenTurnState}' and ${turns}.acknowledged_at is null`

/** The turn has not ended, or holds the queue. The words are those of an index on the few turns that it is true of. */
export const isUnsettled = (turns: string): string => `(${turns}.finished_at is null or (${isHolding(turns)}))`
