import { requireAll } from "@reins/base/domain/Condition"
import type { Actor } from "@reins/base/domain/Event"
import type { Principal } from "@reins/base/domain/Principal"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import { Context, Effect, Layer } from "effect"
import { actorOf, type Denied, type Unseen } from "../../access/Access.js"
import { limitsOf } from "../../sessions/creation/SessionBounds.js"
import { leaseStateOf, type SessionRow } from "../../sessions/rows/SessionRow.js"
import { forcedRelease, isWorking, sessionRules } from "../../sessions/rows/SessionRules.js"
import { SessionStore } from "../../sessions/rows/SessionStore.js"
import { TurnStore } from "../../sessions/turns/TurnStore.js"
import type { Command } from "../../store/Command.js"
import { existingOf } from "../../store/Existing.js"
import { Journal } from "../../store/Journal.js"
import { Leases } from "../../worktrees/Leases.js"
import { activation } from "./Activation.js"
import type { ActivationInput, ExecutorAnswer, ReleaseInput, SessionExecutor } from "./ExecutorApi.js"
import { releases } from "./Releases.js"

/** The commands on the executor of a session, for its users. */
export class SessionExecutors extends Context.Tag("@reins/core/execution/SessionExecutors")<
  SessionExecutors,
  {
    /** The backend, the newest lease and the workspace of a session. */
    readonly get: (principal: Principal, sessionId: string) => Effect.Effect<SessionExecutor, Unseen>
    /**
     * Makes the executor and the workspace ready. Every call has an operation of its own. When both are ready already, the operation only
     * counts as a use. Another backend can be chosen while no lease is held.
     */
    readonly activate: (
      principal: Principal,
      sessionId: string,
      input: ActivationInput
    ) => Command<ExecutorAnswer, Denied | ReinsError<"invalid_transition" | "executor_unavailable">>
    /**
     * Captures the changes that no changeset holds yet, and then ends the lease. The workspace stays. Fails with `turn_active` while a turn
     * waits or runs, unless `force` cancels the turns first. Fails with `invalid_transition` when there is no lease to release.
     */
    readonly release: (
      principal: Principal,
      sessionId: string,
      input: ReleaseInput
    ) => Command<ExecutorAnswer, Denied | ReinsError<"invalid_transition" | "turn_active">>
  }
>() {
  static readonly layer = Layer.effect(
    SessionExecutors,
    Effect.gen(function* () {
      const journal = yield* Journal
      const sessions = yield* SessionStore
      const activate = yield* activation
      const release = yield* makeRelease

      const answer = Effect.fnUntraced(function* (id: string, actor: Actor, operation: ExecutorAnswer["operation"]) {
        const row = yield* existingOf("session", sessions.find)(id)
        return { operation, executor: executorOf(row), event_watermark: yield* journal.append(row.id, actor, []) }
      })

      return SessionExecutors.of({
        get: (principal, sessionId) => Effect.map(sessions.readable(principal, sessionId), executorOf),
        activate: (principal, sessionId, input) =>
          journal.command(
            "SessionExecutors.activate",
            { by: principal, about: { type: "session", id: sessionId } },
            Effect.gen(function* () {
              const row = yield* sessions.writable(principal, sessionId)
              yield* requireAll(sessionRules.activate_executor, row)
              return yield* answer(row.id, actorOf(principal), yield* activate(row, actorOf(principal), input))
            })
          ),
        release: (principal, sessionId, input) =>
          journal.command(
            "SessionExecutors.release",
            { by: principal, about: { type: "session", id: sessionId } },
            Effect.gen(function* () {
              const row = yield* sessions.writable(principal, sessionId)
              yield* requireAll(input.force === true ? forcedRelease : sessionRules.release_executor, row)
              return yield* answer(row.id, actorOf(principal), yield* release(row, actorOf(principal)))
            })
          )
      })
    })
  )
}

/** Cancels the turns that are left, and begins the end of the lease. The commit holds the session, which has been found fit for it. */
const makeRelease = Effect.gen(function* () {
  const turns = yield* TurnStore
  const leases = yield* Leases
  const enqueueRelease = yield* releases

  return Effect.fnUntraced(function* (row: SessionRow, actor: Actor) {
    if (isWorking(row)) yield* turns.cancelAll(row.id, actor)
    if (row.executor.lease?.state === "ready") yield* leases.move(row.id, "quiescing", actor, "requested")
    return yield* enqueueRelease(row, "requested")
  })
})

const executorOf = (row: SessionRow): SessionExecutor => ({
  backend: row.executor.backend,
  limits: limitsOf(row) ?? null,
  lease: {
    id: row.executor.lease?.id ?? null,
    state: leaseStateOf(row),
    created_at: row.executor.lease?.created_at ?? null,
    last_used_at: row.executor.lease?.used_at ?? null
  },
  workspace: { state: row.tree.state, base_commit: row.tree.base_commit }
})
