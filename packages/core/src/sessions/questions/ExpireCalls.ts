import { Effect } from "effect"
import { Journal } from "../../store/Journal.js"
import { ToolCallStore } from "./ToolCallStore.js"

/** The most calls that one sweep ends. */
const most = 1000

/** Ends the calls of interrupted turns whose time is over. Of every other turn the agent's call does that. */
export const expireCalls = Effect.gen(function* () {
  const calls = yield* ToolCallStore
  const journal = yield* Journal
  return Effect.flatMap(calls.overdue(most), (found) =>
    Effect.forEach(found, ({ id }) => journal.commit(calls.expire(id)), { discard: true })
  )
})
