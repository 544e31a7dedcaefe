import { failpoint } from "@reins/base/base/Failpoint"
import { Effect } from "effect"
import { actorOf } from "../access/Access.js"
import { InteractionStore } from "../sessions/questions/InteractionStore.js"
import { type KeptCall, ToolCallStore } from "../sessions/questions/ToolCallStore.js"
import { Journal } from "../store/Journal.js"
import { ToolFailed, type ToolTurn } from "./Tool.js"

/**
 * Gives the function that opens the interaction of a call and waits for its end. A call that was answered before gets that answer, and one that is
 * open under the same key is waited for.
 */
export const makeAskOutside = Effect.gen(function* () {
  const calls = yield* ToolCallStore
  const interactions = yield* InteractionStore
  const journal = yield* Journal
  return Effect.fnUntraced(function* ({ principal, turn }: ToolTurn, call: KeptCall) {
    const opened = yield* journal.commit(calls.open(turn.id, actorOf(principal), call))
    if (opened === undefined) return yield* new ToolFailed({ message: "The turn has ended." })
    yield* failpoint("tool.asked")
    const settled = yield* interactions.settled(opened.id, (command) => journal.commit(command))
    yield* failpoint("tool.answered")
    return settled
  })
})

/**
 * A key with the number of the call among those that are alike in the turn. So the same call of a retry takes the answer that is there, and the
 * next call of the same is another one.
 */
export const numbered = (turn: ToolTurn, what: string): string => `${what}:${turn.count(what)}`
