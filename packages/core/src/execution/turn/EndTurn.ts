import { Effect } from "effect"
import { type Turn, turnStates } from "../../sessions/rows/Turn.js"
import { stopOf, type TurnEnd } from "../../sessions/turns/TurnRow.js"
import { TurnStore } from "../../sessions/turns/TurnStore.js"
import { system } from "../setup/TurnWork.js"

/** Moves a turn to its end, or to `cancelled` when its cancellation came first. A turn that has ended stays as it is. */
export const endTurn = Effect.map(TurnStore, (turns) =>
  Effect.fnUntraced(function* (turn: Turn, to: "succeeded" | "failed" | "interrupted", end: TurnEnd) {
    const found = yield* turns.find(turn.id)
    if (found === undefined || turnStates.isTerminal(found.state)) return
    if (found.state === "cancelling") yield* turns.move(turn.id, "cancelled", system, { ...end, ...stopOf(found) })
    else yield* turns.move(turn.id, to, system, end)
  })
)
