import { fn } from "@reins/base/base/Traced"
import type { StoppedAgent } from "@reins/machine/bench/AgentOrder"
import { Bench } from "@reins/machine/bench/Bench"
import { Effect } from "effect"
import { Placements } from "../../placement/Placements.js"
import type { SessionRow } from "../../sessions/rows/SessionRow.js"
import { SessionStore } from "../../sessions/rows/SessionStore.js"
import { logDefect } from "../../store/FailedStatement.js"
import { Journal } from "../../store/Journal.js"
import { AgentStateStore } from "../../worktrees/AgentStateStore.js"

/** `TurnSetup.nativeDigest`. */
export const makeDigest = Effect.gen(function* () {
  const { agents } = yield* Bench
  const placements = yield* Placements

  return fn("TurnSetup.nativeDigest")(function* (session: SessionRow) {
    // Nobody looks for the files of another node on the own disk: what is known of them stays.
    if ((yield* placements.at(session.id)).kind !== "here") return session.agent.native_digest
    return yield* agents.state(session.id, session.provider_id).pipe(
      // An agent can make its own files unreadable. The turn has to end all the same.
      Effect.catchAllDefect((defect) =>
        Effect.as(logDefect("the agent's own state cannot be read", defect), unreadableState).pipe(
          Effect.annotateLogs({ session_id: session.id })
        )
      )
    )
  })
})

/** Stores the digest of the state that an agent has left which was stopped between its turns. */
export const makeStoreDigest = Effect.fnUntraced(function* (
  nativeDigest: (session: SessionRow) => Effect.Effect<string | null>
) {
  const journal = yield* Journal
  const sessions = yield* SessionStore
  const states = yield* AgentStateStore
  const placements = yield* Placements

  return (agent: StoppedAgent) =>
    Effect.gen(function* () {
      const session = yield* sessions.find(agent.session)
      if (session === undefined) return
      const native_digest = yield* nativeDigest({ ...session, provider_id: agent.provider })
      yield* journal.commit(
        Effect.gen(function* () {
          if (!(yield* placements.holds(agent.session))) return
          const row = yield* sessions.lock(agent.session)
          // Another agent may work by now, on this server or on another one.
          if (row === undefined || row.turns.active !== null) return
          const isOurs = row.executor.lease?.id === agent.lease
          if (isOurs && row.agent.native_digest === liveState) yield* states.change(agent.session, { native_digest })
        })
      )
    }).pipe(
      // The state then counts as that of an agent which a crash has ended.
      Effect.catchAllDefect((defect) => logDefect("the state of an agent that was stopped cannot be stored", defect))
    )
})

/** Stands in the place of a digest while the agent lives on between its turns. */
export const liveState = "live"

/** The digest of a state that cannot be read. */
export const unreadableState = "unreadable"
