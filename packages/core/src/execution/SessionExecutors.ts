import { Context, Effect, Layer } from "effect"
import { actorOf, systemActor } from "../access/Access.js"
import type { ActivationInput, ExecutorAnswer, ReleaseInput, SessionExecutor } from "../api/SessionsApi.js"
import { fn } from "../base/Traced.js"
import type { Actor } from "../domain/Event.js"
import type { Principal } from "../domain/Principal.js"
import { notFound, ReinsError } from "../domain/ReinsError.js"
import { leaseStates } from "../domain/Session.js"
import { fromNow, now, type Timestamp } from "../domain/Timestamp.js"
import { Executors } from "../executor/Executors.js"
import { JobStore } from "../jobs/JobStore.js"
import { isHeld, Leases } from "../sessions/Leases.js"
import { type SessionRow, SessionStore } from "../sessions/SessionStore.js"
import { releaseJobKind, turnActive } from "../sessions/Sessions.js"
import { notOpen, Turns } from "../sessions/Turns.js"
import type { Command } from "../store/Command.js"
import { Database } from "../store/Database.js"
import { Journal } from "../store/Journal.js"

/** The kind of the job that makes an executor and a workspace ready. */
export const activationJobKind = "executor.activate"

/** How many idle executors one look releases. */
const idleBatch = 100

/** The executor of a session, as its users ask for it and give it back. */
export class SessionExecutors extends Context.Tag("@reins/core/execution/SessionExecutors")<
  SessionExecutors,
  {
    readonly get: (principal: Principal, sessionId: string) => Effect.Effect<SessionExecutor, ReinsError>
    /**
     * Makes the executor and the workspace ready. Every call has an operation of its own; one that finds both ready succeeds without
     * doing anything and counts as a use. Another backend can be chosen while no lease is held.
     */
    readonly activate: (
      principal: Principal,
      sessionId: string,
      input: ActivationInput
    ) => Command<ExecutorAnswer, ReinsError>
    /**
     * Captures what no changeset holds yet, then ends the lease; the workspace stays. Fails with `turn_active` while a turn waits or
     * runs, unless `force` cancels those first, and with `invalid_transition` when there is no lease to release.
     */
    readonly release: (
      principal: Principal,
      sessionId: string,
      input: ReleaseInput
    ) => Command<ExecutorAnswer, ReinsError>
    /** Begins to release the executors that were last used before the given time, and says how many. */
    readonly releaseIdle: (before: Timestamp) => Effect.Effect<number>
  }
>() {
  static readonly layer = Layer.effect(
    SessionExecutors,
    Effect.gen(function* () {
      const db = yield* Database
      const journal = yield* Journal
      const jobs = yield* JobStore
      const store = yield* SessionStore
      const turns = yield* Turns
      const leases = yield* Leases
      const executors = yield* Executors
      const sql = db.sql

      const answer = Effect.fnUntraced(function* (id: string, actor: Actor, operation: ExecutorAnswer["operation"]) {
        const row = yield* store.find(id)
        if (row === undefined) return yield* notFound()
        return { operation, executor: executorOf(row), event_watermark: yield* journal.append(row.id, actor, []) }
      })

      const chooseBackend = Effect.fnUntraced(function* (row: SessionRow, wanted: SessionRow["backend"]) {
        yield* executors.choose(wanted)
        if (wanted === row.backend) return
        if (isHeld(row.lease_state)) return yield* otherBackend(row, wanted)
        yield* store.change(row.id, { backend: wanted }, "touch")
      })

      const enqueueRelease = (row: SessionRow, reason: "requested" | "idle") =>
        jobs.enqueue({
          kind: releaseJobKind,
          subject: { type: "session", id: row.id },
          workspaceId: row.workspace_id,
          payload: { lease_id: row.lease_id, reason },
          maxAttempts: 20
        })

      const releaseIdleOne = (id: string, before: Timestamp, soon: Timestamp) =>
        journal.commit(
          Effect.gen(function* () {
            const row = yield* store.lock(id)
            if (row === undefined || !isIdle(row, before, soon)) return false
            yield* leases.move(row.id, "quiescing", system, "idle")
            yield* enqueueRelease(row, "idle")
            return true
          })
        )

      return SessionExecutors.of({
        get: (principal, sessionId) => Effect.map(store.readable(principal, sessionId), executorOf),
        activate: (principal, sessionId, input) =>
          journal.command(
            "SessionExecutors.activate",
            Effect.gen(function* () {
              const row = yield* store.writable(principal, sessionId)
              if (row.lifecycle !== "open") return yield* notOpen(row)
              yield* chooseBackend(row, input.backend ?? row.backend)
              // A lease that is being released ends first; the job then begins the next one.
              if (row.lease_state === "ready") yield* store.change(row.id, { lease_used_at: yield* now })
              else if (row.lease_state !== "quiescing") yield* leases.allocate(row.id, actorOf(principal))
              const operation = yield* jobs.enqueue({
                kind: activationJobKind,
                subject: { type: "session", id: row.id },
                workspaceId: row.workspace_id,
                payload: {},
                maxAttempts: 5
              })
              return yield* answer(row.id, actorOf(principal), operation)
            })
          ),
        release: (principal, sessionId, input) =>
          journal.command(
            "SessionExecutors.release",
            Effect.gen(function* () {
              const row = yield* store.writable(principal, sessionId)
              if (row.lifecycle === "closed") return yield* notOpen(row)
              const isWorking = row.active_turn_id !== null || row.queued_turns > 0
              if (isWorking && input.force !== true) return yield* turnActive(row)
              // A turn that is cancelled may still be preparing: its lease is settled when it has stopped.
              const isPreparing = isWorking && row.lease_state === "allocating"
              if (row.lease_state !== "quiescing" && !isPreparing)
                yield* leaseStates.check(row.lease_state, "quiescing")
              if (isWorking) yield* turns.cancelAll(row.id, actorOf(principal))
              if (row.lease_state === "ready") yield* leases.move(row.id, "quiescing", actorOf(principal), "requested")
              return yield* answer(row.id, actorOf(principal), yield* enqueueRelease(row, "requested"))
            })
          ),
        releaseIdle: fn("SessionExecutors.releaseIdle")(function* (before) {
          const soon = yield* fromNow(clockSlackMs)
          const rows = yield* store.select(
            sql`lease_state = 'ready' and (lease_used_at <= ${before} or lease_used_at > ${soon})
              order by lease_used_at limit ${idleBatch}`
          )
          const begun = yield* Effect.forEach(rows, (row) => releaseIdleOne(row.id, before, soon))
          return begun.filter((isBegun) => isBegun).length
        })
      })
    })
  )
}

const system = systemActor("workspaces")

/** An executor that was used further in the future than this was used before the clock went back: it counts as idle. */
const clockSlackMs = 60_000

/** Turns that wait behind one that nobody has acknowledged do not use the executor. */
const isIdle = (row: SessionRow, before: Timestamp, soon: Timestamp): boolean =>
  row.lease_state === "ready" &&
  row.lifecycle !== "closed" &&
  row.lease_used_at !== null &&
  (row.lease_used_at <= before || row.lease_used_at > soon) &&
  row.active_turn_id === null &&
  (row.queued_turns === 0 || row.held_turns > 0)

const executorOf = (row: SessionRow): SessionExecutor => ({
  backend: row.backend,
  lease: {
    id: row.lease_id,
    state: row.lease_state,
    created_at: row.lease_created_at,
    last_used_at: row.lease_used_at
  },
  workspace: { state: row.workspace_state, base_commit: row.base_commit }
})

const otherBackend = (row: SessionRow, wanted: string): ReinsError =>
  new ReinsError({
    code: "invalid_transition",
    message: `The session has an executor of the backend ${row.backend}. Release it before choosing ${wanted}.`,
    details: { resource: "executor lease", from: row.lease_state, backend: row.backend, requested: wanted }
  })
