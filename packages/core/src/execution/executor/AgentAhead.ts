import type { SessionId } from "@reins/base/domain/Ids"
import { Bench } from "@reins/machine/bench/Bench"
import { Effect } from "effect"
import type { SessionRow } from "../../sessions/rows/SessionRow.js"
import { SessionStore } from "../../sessions/rows/SessionStore.js"
import { AgentStateStore } from "../../worktrees/AgentStateStore.js"
import { ownedCommits } from "../../worktrees/OwnedCommits.js"
import { WorkingTrees } from "../../worktrees/WorkingTrees.js"
import { liveState } from "../setup/AgentDigest.js"
import { type PreparedAgent, TurnSetup } from "../setup/TurnSetup.js"

/** The start of agents for sessions that have no turn, where one more can be kept. What is in the way of a turn is left to the turn. */
export const agentsAhead = Effect.gen(function* () {
  const { agents } = yield* Bench
  const commit = yield* ownedCommits
  const sessions = yield* SessionStore
  const states = yield* AgentStateStore
  const setup = yield* TurnSetup
  const trees = yield* WorkingTrees

  const begin = Effect.fnUntraced(function* (id: SessionId, start: PreparedAgent) {
    if (!(yield* agents.hasRoom)) return Effect.void
    // The agent changes its own state as soon as it starts, and another process has to know that there is one.
    yield* commit(id, states.change(id, { native_digest: liveState }))
    return yield* agents.open(start.order, start.ear)
  })
  const beginFor = (id: SessionId) => (start: PreparedAgent) => Effect.asVoid(begin(id, start))

  const start = Effect.fnUntraced(
    function* (id: SessionId) {
      const session = yield* sessions.find(id)
      if (session === undefined || !isWaiting(session) || !(yield* agents.hasRoom)) return Effect.void
      return yield* begin(id, yield* setup.prepare(session, beginFor(id)))
    },
    Effect.catchTag("TurnRefused", () => Effect.succeed(Effect.void))
  )

  return {
    /** Makes the executor and the workspace of a session ready as `WorkingTrees.prepare` does, and begins to start the agent beside it. */
    prepare: (id: SessionId) => trees.prepare(id, setup.beside(beginFor(id))),
    /** Begins to start the agent of a session unless it has one. Gives the effect that waits until the agent has started or failed. */
    start: Effect.fnUntraced(function* (id: SessionId) {
      const session = yield* sessions.find(id)
      // A turn that runs has the workspace for itself, and its agent with it.
      return session !== undefined && isWaiting(session) ? yield* trees.exclusive(id, start(id)) : Effect.void
    })
  }
})

/** True for a session that may get a turn and has none. */
const isWaiting = (session: SessionRow): boolean =>
  session.lifecycle === "open" &&
  (session.executor.lease === null || session.executor.lease.state === "ready") &&
  session.turns.active === null &&
  session.turns.queued === 0
