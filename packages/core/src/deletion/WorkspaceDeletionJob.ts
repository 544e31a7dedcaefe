import { failpoint } from "@reins/base/base/Failpoint"
import { fn } from "@reins/base/base/Traced"
import { Actor } from "@reins/base/domain/Event"
import { Bench } from "@reins/machine/bench/Bench"
import { Effect, Schedule, Schema } from "effect"
import { outboxFiles } from "../identity/OutboxFiles.js"
import { identityRemoval } from "../identity/Removal.js"
import { JobError, type JobKind, type RunningAttempt } from "../jobs/JobKind.js"
import { JobStore } from "../jobs/JobStore.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import { sessionRemoval } from "../sessions/SessionRemoval.js"
import { Database } from "../store/Database.js"
import { forgetAnswersIn } from "../store/ForgottenAnswers.js"
import { deleteSome } from "../store/OwnedRows.js"
import { followedRows } from "../webhooks/WorkspaceRows.js"
import { workspaceRows } from "./DeletedWorkspaceRows.js"
import { makeDeleteTrees } from "./DeletionBegin.js"
import { diskFailed } from "./DiskFailed.js"
import { makeOverwriting } from "./Overwriting.js"
import { resourceReceipts } from "./ResourceReceipts.js"
import { workspaceDeletionKind } from "./WorkspaceDeletions.js"

/** Rows of one commit. Other writers wait for it. */
const batch = 500

/** Sessions whose deletion begins in one commit, beside those that work for them. */
const batchOfSessions = 10

const Payload = Schema.Struct({ actor: Actor })

/** Deletes all that is in a workspace. Every step can be repeated, so that an attempt goes on where the last one ended. */
export const workspaceDeletionJob = Effect.gen(function* () {
  const db = yield* Database
  const deleteSessions = yield* makeDeleteSessions
  const overwrite = yield* makeOverwriting
  const receipts = yield* resourceReceipts
  const removal = yield* identityRemoval
  const { disk } = yield* Bench
  const outbox = yield* outboxFiles

  return {
    kind: workspaceDeletionKind,
    concurrency: 2,
    deadlineMs: 60 * 60_000,
    run: fn("workspaceDeletionJob.run")(function* (attempt) {
      const { claim, commit } = attempt
      const { id } = claim.subject
      // Couriers stop first, so that no endpoint is told of what goes with the workspace.
      for (const owned of followedRows) while ((yield* commit(deleteSome(db, owned, id, batch))) === batch);
      yield* deleteSessions(id, attempt)
      yield* failpoint("deletion.workspace_sessions_gone")
      yield* Effect.mapError(disk.removeOwned([id]), diskFailed)
      yield* outbox.removeBy(yield* removal.invitationMailsOf(id))
      for (const owned of workspaceRows) while ((yield* commit(deleteSome(db, owned, id, batch))) === batch);
      while ((yield* commit(forgetAnswersIn(db, id, batch))) === batch);
      yield* failpoint("deletion.workspace_rows_deleted")
      yield* overwrite
      return {
        state: "succeeded" as const,
        command: Effect.zipRight(removal.removeWorkspace(id), receipts.finishIn(id))
      }
    }),
    failed: () => Effect.void,
    lost: () => Effect.succeed({ next: "retry" as const, command: Effect.void })
  } satisfies JobKind
})

/** Has every session of a workspace deleted, cancels the other work in it, and waits until nothing of both is left. */
const makeDeleteSessions = Effect.gen(function* () {
  const { deleteAnyway } = yield* makeDeleteTrees
  const jobs = yield* JobStore
  const sessions = yield* SessionStore
  const removal = yield* sessionRemoval

  const begin = Effect.fnUntraced(function* (id: string, actor: Actor) {
    const some = yield* removal.stillIn(id, batchOfSessions)
    for (const sessionId of some) {
      const row = yield* sessions.lock(sessionId)
      // Others of the batch may have taken it along.
      if (row !== undefined && !(yield* removal.isHidden(sessionId))) yield* deleteAnyway(row, actor)
    }
    return some.length
  })

  return Effect.fnUntraced(function* (id: string, { claim, commit }: RunningAttempt) {
    const { actor } = yield* Effect.orDie(Schema.decodeUnknown(Payload)(claim.payload))
    const isEmpty = Effect.gen(function* () {
      while ((yield* commit(begin(id, actor))) > 0);
      const live = yield* jobs.liveIn(id)
      if (live.length > 0) yield* commit(Effect.forEach(live, jobs.cancel, { discard: true }))
      if (live.length > 0 || (yield* removal.anyIn(id))) return yield* sessionsLeft
    })
    const patience = Schedule.intersect(Schedule.spaced("250 millis"), Schedule.recurs(240))
    yield* Effect.retry(isEmpty, { schedule: patience, while: (error) => error === sessionsLeft })
  })
})

const sessionsLeft = new JobError({
  code: "workspace_busy",
  message: "Sessions of the workspace are still being deleted. The deletion of the workspace goes on after them.",
  retryable: true
})
