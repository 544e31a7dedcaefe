import { Effect } from "effect"
import { systemActor } from "../access/Access.js"
import { AgentPool } from "../agents/AgentPool.js"
import { CoreConfig } from "../base/CoreConfig.js"
import { fn } from "../base/Traced.js"
import { SessionId } from "../domain/Ids.js"
import { JobError, type JobKind } from "../jobs/JobKind.js"
import { Leases } from "../sessions/Leases.js"
import { type SessionRow, SessionStore } from "../sessions/SessionStore.js"
import { WorkingTrees } from "../sessions/WorkingTrees.js"
import { Journal } from "../store/Journal.js"
import { activationJobKind } from "./SessionExecutors.js"
import { liveState, mayPass, TurnSetup } from "./TurnSetup.js"

const actor = systemActor("workspaces")

/**
 * Makes the executor and the workspace of a session ready, also beside a turn that runs, and begins to start the agent for a turn that is to
 * come. It leaves alone what is ready already.
 */
export const activationJob = Effect.gen(function* () {
  const leases = yield* Leases
  const store = yield* SessionStore
  const trees = yield* WorkingTrees
  const startAgent = yield* startingAgent
  return {
    kind: activationJobKind,
    // Sessions of one project wait here for the same setup, and others are not to wait behind them.
    concurrency: 16,
    deadlineMs: 30 * 60_000,
    run: fn("activationJob.run")(function* ({ claim }) {
      const id = SessionId.make(claim.subject.id)
      const session = yield* store.find(id)
      // A session that was closed meanwhile needs no executor any more.
      if (session === undefined || session.lifecycle === "closed")
        return { state: "cancelled" as const, command: Effect.void }
      yield* trees.prepare(id).pipe(
        Effect.mapError(
          (error) =>
            new JobError({
              code: error.kind,
              message: `The workspace could not be made. ${error.message}`,
              retryable: mayPass(error)
            })
        )
      )
      yield* startAgent(id)
      return { state: "succeeded" as const, command: Effect.void }
    }),
    failed: fn("activationJob.failed")(function* (claim, failure) {
      const session = yield* store.lock(claim.subject.id)
      // With an active turn the lease belongs to the turn that is being prepared, which goes on.
      if (session?.lease_state === "allocating" && session.active_turn_id === null)
        yield* leases.lose(session.id, actor, failure.code)
    }),
    lost: () => Effect.succeed({ next: "retry" as const, command: Effect.void })
  } satisfies JobKind
})

/** Begins to start the agent of a session that has no turn. What is in the way of a turn is left to the turn. */
const startingAgent = Effect.gen(function* () {
  const { agentIdleMs } = yield* CoreConfig
  const agents = yield* AgentPool
  const journal = yield* Journal
  const sessions = yield* SessionStore
  const setup = yield* TurnSetup
  const trees = yield* WorkingTrees

  const start = Effect.fnUntraced(
    function* (id: SessionId) {
      const session = yield* sessions.find(id)
      if (session === undefined || !isWaiting(session)) return
      const prepared = yield* setup.prepare(session)
      // The agent changes its own state as soon as it starts.
      if (prepared.nativeSessionId !== null) yield* journal.commit(sessions.change(id, { native_digest: liveState }))
      yield* agents.prepare(prepared)
    },
    Effect.catchTag("TurnRefused", () => Effect.void)
  )

  return Effect.fnUntraced(function* (id: SessionId) {
    const session = yield* sessions.find(id)
    // A turn that runs has the workspace for itself, and its agent with it.
    if (agentIdleMs > 0 && session !== undefined && isWaiting(session)) yield* trees.exclusive(id, start(id))
  })
})

/** True for a session that may get a turn and has none. */
const isWaiting = (session: SessionRow): boolean =>
  session.lifecycle === "open" &&
  session.lease_state === "ready" &&
  session.active_turn_id === null &&
  session.queued_turns === 0
