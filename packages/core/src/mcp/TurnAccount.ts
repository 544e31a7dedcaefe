import { Effect } from "effect"
import type { SessionRow } from "../sessions/rows/SessionRow.js"
import { TurnStore } from "../sessions/turns/TurnStore.js"
import { turnPrincipal } from "../tools/Acting.js"

/** Gives the account that the agent of a session acts for in the turn that runs; undefined where none runs. */
export const turnAccount = Effect.map(Effect.all([TurnStore, turnPrincipal]), ([turns, principalOf]) =>
  Effect.fnUntraced(function* (session: SessionRow) {
    const { active } = session.turns
    const turn = active === null ? undefined : yield* turns.find(active.id)
    return turn === undefined ? undefined : (yield* principalOf(session, turn))?.accountId
  })
)
