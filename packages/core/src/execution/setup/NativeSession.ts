import { Effect } from "effect"
import type { AgentState, SessionRow } from "../../sessions/rows/SessionRow.js"
import type { Turn } from "../../sessions/rows/Turn.js"
import { modelCallStore } from "../../sessions/usage/ModelCallStore.js"

/**
 * Decides at the end of a turn about the native session that it has opened, and gives what becomes of it. The session goes on with it when a model
 * has answered in it. Otherwise there is nothing to go on with, and some agents cannot even open such a session again, so the next turn opens
 * another one. `hasSpoken` says that the agent has spoken, for agents whose model calls nobody sees. The commit holds the session.
 */
export const settleNativeSession = Effect.gen(function* () {
  const calls = yield* modelCallStore

  return Effect.fnUntraced(function* (
    session: SessionRow | undefined,
    turn: Turn,
    hasSpoken: boolean
  ): Effect.fn.Return<Partial<AgentState>> {
    const candidate = session?.agent.native_candidate ?? null
    if (candidate === null) return {}
    const isKept = hasSpoken || (yield* calls.hasAnswer(turn.id))
    return { native_candidate: null, ...(isKept && { native_session_id: candidate }) }
  })
})
