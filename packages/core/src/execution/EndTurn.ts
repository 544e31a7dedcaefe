import { Effect } from "effect"
import { type Turn, turnStates } from "../domain/Turn.js"
import { type TurnEnd, TurnStore, userCancelled } from "../sessions/TurnStore.js"
import { system } from "./TurnWork.js"

/** Moves a turn to its end, or to `cancelled` when its cancellation came first. A turn that has ended stays as it is. */
export const endTurn = Effect.map(
  TurnStore,
  (turns) => (turn: Turn, to: "succeeded" | "failed" | "interrupted", end: TurnEnd) =>
    Effect.flatMap(turns.find(turn.id), (found) => {
      if (found === undefined || turnStates.isTerminal(found.state)) return Effect.void
      return found.state === "cancelling"
        ? turns.move(turn.id, "cancelled", system, { ...end, ...userCancelled })
        : turns.move(turn.id, to, system, end)
    }).pipe(Effect.asVoid)
)
