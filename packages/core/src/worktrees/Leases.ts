import { fn } from "@reins/base/base/Traced"
import type { Actor } from "@reins/base/domain/Event"
import { LeaseId, newId, type SessionId } from "@reins/base/domain/Ids"
import { now } from "@reins/base/domain/Timestamp"
import { Bench } from "@reins/machine/bench/Bench"
import { Context, Effect, Layer } from "effect"
import { isLeaseHeld } from "../sessions/rows/Session.js"
import { leaseStateOf, type SessionRow } from "../sessions/rows/SessionRow.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import { existingOf } from "../store/Existing.js"
import { Journal } from "../store/Journal.js"
import * as LeaseRows from "./LeaseRows.js"

/** The executor leases of sessions, and the events that tell of them. A session has its newest lease; a lease that has ended never comes back. */
export class Leases extends Context.Tag("@reins/core/worktrees/Leases")<
  Leases,
  {
    /** Begins a new lease, unless one is held. */
    readonly allocate: (sessionId: SessionId, actor: Actor) => Effect.Effect<void, never, Commit>
    /** Moves the newest lease of a session. Dies for a move that `leaseStates` does not draw. */
    readonly move: (
      sessionId: SessionId,
      to: LeaseRows.LaterState,
      actor: Actor,
      reason: string | null
    ) => Effect.Effect<void, never, Commit>
    /** Notes that the lease of a session is used now. The commit holds the session. */
    readonly use: (sessionId: SessionId) => Effect.Effect<void, never, Commit>
    /** The sessions with a lease that is ready and was last used before `before`, or after `soon`, which is ahead. Longest unused first. */
    readonly unused: (span: LeaseRows.Unused) => Effect.Effect<ReadonlyArray<SessionId>>
    /** Marks the newest lease lost if it is held. */
    readonly lose: (sessionId: SessionId, actor: Actor, reason: string) => Effect.Effect<void, never, Commit>
    /**
     * Stops the agent that is kept for the lease of a session as the caller knows it, and ends every process that bears it. Does nothing for a lease that has ended: the processes
     * may then belong to another installation, or a newer lease has taken its place.
     */
    readonly reap: (session: SessionRow) => Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.effect(
    Leases,
    Effect.gen(function* () {
      const journal = yield* Journal
      const store = yield* SessionStore
      const rows = LeaseRows.make(yield* Database)
      const { agents } = yield* Bench

      const locked = existingOf("session", store.lock)

      const move = fn("Leases.move")(function* (
        sessionId: SessionId,
        to: LeaseRows.LaterState,
        actor: Actor,
        reason: string | null
      ) {
        const { executor } = yield* locked(sessionId)
        if (executor.lease === null) return yield* Effect.dieMessage(`session ${sessionId} has no lease`)
        yield* rows.move(sessionId, executor.lease, to, yield* now)
        yield* store.touch(sessionId)
        yield* journal.append(sessionId, actor, [
          { type: `executor.${to}`, payload: { lease_id: executor.lease.id, backend: executor.backend, reason } }
        ])
      })

      return Leases.of({
        allocate: fn("Leases.allocate")(function* (sessionId, actor) {
          const row = yield* locked(sessionId)
          if (isLeaseHeld(leaseStateOf(row))) return
          const { backend, lease } = row.executor
          const id = yield* newId(LeaseId)
          yield* rows.begin(sessionId, lease, { id, at: yield* now })
          yield* store.touch(sessionId)
          yield* journal.append(sessionId, actor, [
            { type: "executor.allocating", payload: { lease_id: id, backend, reason: null } }
          ])
        }),
        move,
        use: (sessionId) => Effect.flatMap(now, (at) => rows.use(sessionId, at)),
        unused: rows.unused,
        lose: fn("Leases.lose")(function* (sessionId, actor, reason) {
          if (isLeaseHeld(leaseStateOf(yield* locked(sessionId)))) yield* move(sessionId, "lost", actor, reason)
        }),
        reap: fn("Leases.reap")(function* (session) {
          const row = yield* store.find(session.id)
          if (row === undefined || !isLeaseHeld(leaseStateOf(row))) return
          const { backend, lease } = row.executor
          if (lease === null || lease.id !== session.executor.lease?.id) return
          const ended = yield* agents.reap(lease.id, backend)
          if (ended > 0)
            yield* Effect.logWarning("ended what a lease had left running", { session_id: row.id, processes: ended })
        })
      })
    })
  )
}
