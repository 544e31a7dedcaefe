import { Effect } from "effect"
import { SessionStore } from "../sessions/SessionStore.js"
import type { Turn } from "../sessions/Turn.js"
import { modelCallStore } from "../sessions/usage/ModelCallStore.js"
import { Database } from "../store/Database.js"

/**
 * Decides at the end of a turn about the native session that it has opened. The session goes on with it when a model has answered in it.
 * Otherwise there is nothing to go on with, and some agents cannot even open such a session again, so the next turn opens another one.
 * `hasSpoken` says that the agent has spoken, for agents whose model calls nobody sees. The commit holds the session.
 */
export const settleNativeSession = Effect.gen(function* () {
  const sessions = yield* SessionStore
  const calls = modelCallStore(yield* Database)

  return Effect.fnUntraced(function* (turn: Turn, hasSpoken: boolean) {
    const candidate = (yield* sessions.find(turn.session_id))?.native_candidate ?? null
    if (candidate === null) return
    const isKept = hasSpoken || (yield* calls.hasAnswer(turn.id))
    yield* sessions.change(turn.session_id, {
      native_candidate: null,
      ...(isKept && { native_session_id: candidate })
    })
  })
})
