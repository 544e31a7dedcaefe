import { failpoint } from "@reins/base/base/Failpoint"
import { fn } from "@reins/base/base/Traced"
import { SessionId } from "@reins/base/domain/Ids"
import { Effect, Schedule } from "effect"
import { systemActor } from "../access/Access.js"
import { JobError, type JobKind, type RunningAttempt } from "../jobs/JobKind.js"
import { JobStore } from "../jobs/JobStore.js"
import { deletionJobKind } from "../jobs/SessionRows.js"
import { Placements } from "../placement/Placements.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import { sessionRemoval } from "../sessions/SessionRemoval.js"
import { Leases } from "../worktrees/Leases.js"
import { Snapshots } from "../worktrees/snapshots/Snapshots.js"
import { WorkingTrees } from "../worktrees/WorkingTrees.js"
import { makeDeleteRows } from "./DeletedRows.js"
import { makeOverwriting } from "./Overwriting.js"
import { receiptStore } from "./Receipts.js"

const actor = systemActor("deletion")

/**
/**
 * Deletes all that is in a session: processes, files, blobs and rows, and at last the session. Every step can be repeated, so that an attempt goes on
 * where the last one ended.
 */
export const deletionJob = Effect.gen(function* () {
  const stop = yield* makeStop
  const trees = yield* WorkingTrees
  const deleteRows = yield* makeDeleteRows
  const overwrite = yield* makeOverwriting
  const snapshots = yield* Snapshots
  const placements = yield* Placements
  const removal = yield* sessionRemoval
  const receipts = yield* receiptStore

  return {
    kind: deletionJobKind,
    concurrency: 2,
    deadlineMs: 60 * 60_000,
    run: fn("deletionJob.run")(function* (attempt) {
      const id = SessionId.make(attempt.claim.subject.id)
      yield* stop(id, attempt)
      yield* trees.forget(id)
      yield* failpoint("deletion.files_removed")
      yield* Effect.mapError(
        snapshots.forget(id),
        ({ message }) => new JobError({ code: "blobs_unavailable", message, retryable: true })
      )
      yield* failpoint("deletion.blobs_deleted")
      yield* deleteRows(id, attempt)
      yield* failpoint("deletion.rows_deleted")
      yield* overwrite
      yield* failpoint("deletion.overwritten")
      return {
        state: "succeeded" as const,
        // The place goes last, because each commit of an attempt needs it.
        command: Effect.all([placements.remove(id), removal.remove(id), receipts.finish(id)], { discard: true })
      }
    }),
    failed: () => Effect.void,
    lost: () => Effect.succeed({ next: "retry" as const, command: Effect.void })
  } satisfies JobKind
})

/** Waits until no other job works on a session, and ends its agent. */
const makeStop = Effect.gen(function* () {
  const jobs = yield* JobStore
  const sessions = yield* SessionStore
  const leases = yield* Leases

  const isQuiet = Effect.fnUntraced(function* (id: SessionId, { commit }: RunningAttempt) {
    const live = yield* jobs.liveOf(id)
    if (live.length === 0) return
    yield* commit(Effect.forEach(live, jobs.cancel, { discard: true }))
    return yield* othersWork
  })
  const patience = Schedule.intersect(Schedule.spaced("250 millis"), Schedule.recurs(100))

  return Effect.fnUntraced(function* (id: SessionId, attempt: RunningAttempt) {
    yield* Effect.retry(isQuiet(id, attempt), { schedule: patience, while: (error) => error === othersWork })
    const session = yield* sessions.find(id)
    if (session === undefined) return
    yield* leases.reap(session)
    yield* attempt.commit(leases.lose(id, actor, "session_deleted"))
  })
})

const othersWork = new JobError({
  code: "session_busy",
  message: "Other work on the session has not ended yet. It was asked to stop, and the deletion goes on after it.",
  retryable: true
})
