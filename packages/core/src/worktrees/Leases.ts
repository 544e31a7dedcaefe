import { Context, Effect, Layer } from "effect"
import { fn } from "../base/Traced.js"
import { Bench } from "../bench/Bench.js"
import type { Actor } from "../domain/Event.js"
import { LeaseId, newId, type SessionId } from "../domain/Ids.js"
import { now } from "../domain/Timestamp.js"
import { isLeaseHeld, type LeaseState } from "../sessions/Session.js"
import type { SessionRow } from "../sessions/SessionRow.js"
import { SessionStore } from "../sessions/SessionStore.js"
import type { Commit } from "../store/Commit.js"
import { existingOf } from "../store/Existing.js"
import { Journal } from "../store/Journal.js"

/** A state that a lease moves to once it has begun. */
type LaterState = Exclude<LeaseState, "none" | "allocating">

/** The executor leases of sessions, and the events that tell of them. A session has its newest lease; a lease that has ended never comes back. */
export class Leases extends Context.Tag("@reins/core/worktrees/Leases")<
  Leases,
  {
    /** Begins a new lease, unless one is held. */
    readonly allocate: (sessionId: SessionId, actor: Actor) => Effect.Effect<void, never, Commit>
    /** Moves the newest lease of a session. Dies for a move that `leaseStates` does not draw. */
    readonly move: (
      sessionId: SessionId,
      to: LaterState,
      actor: Actor,
      reason: string | null
    ) => Effect.Effect<void, never, Commit>
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
      const { agents } = yield* Bench

      const locked = existingOf("session", store.lock)

      const move = fn("Leases.move")(function* (
        sessionId: SessionId,
        to: LaterState,
        actor: Actor,
        reason: string | null
      ) {
        const row = yield* locked(sessionId)
        yield* store.moveLease(row, to, to === "ready" ? { lease_used_at: yield* now } : {})
        if (row.lease_id === null) return yield* Effect.dieMessage(`session ${sessionId} has no lease`)
        yield* journal.append(sessionId, actor, [
          { type: `executor.${to}`, payload: { lease_id: row.lease_id, backend: row.backend, reason } }
        ])
      })

      return Leases.of({
        allocate: fn("Leases.allocate")(function* (sessionId, actor) {
          const row = yield* locked(sessionId)
          if (isLeaseHeld(row.lease_state)) return
          const id = yield* newId(LeaseId)
          yield* store.moveLease(row, "allocating", { lease_id: id, lease_created_at: yield* now, lease_used_at: null })
          yield* journal.append(sessionId, actor, [
            { type: "executor.allocating", payload: { lease_id: id, backend: row.backend, reason: null } }
          ])
        }),
        move,
        lose: fn("Leases.lose")(function* (sessionId, actor, reason) {
          if (isLeaseHeld((yield* locked(sessionId)).lease_state)) yield* move(sessionId, "lost", actor, reason)
        }),
        reap: fn("Leases.reap")(function* (session) {
          const row = yield* store.find(session.id)
          if (row === undefined || row.lease_id === null || !isLeaseHeld(row.lease_state)) return
          if (row.lease_id !== session.lease_id) return
          const ended = yield* agents.reap(row.lease_id, row.backend)
          if (ended > 0)
            yield* Effect.logWarning("ended what a lease had left running", { session_id: row.id, processes: ended })
        })
      })
    })
  )
}
