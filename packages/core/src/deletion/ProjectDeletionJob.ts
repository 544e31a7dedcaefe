import { failpoint } from "@reins/base/base/Failpoint"
import { fn } from "@reins/base/base/Traced"
import { Bench } from "@reins/machine/bench/Bench"
import { Effect } from "effect"
import { systemActor } from "../access/Access.js"
import type { JobKind } from "../jobs/JobKind.js"
import { projectDeletionKind } from "../jobs/SessionRows.js"
import { projectRemoval, projectRows } from "../projects/ProjectRemoval.js"
import { projectUses } from "../sessions/ProjectUses.js"
import { Database } from "../store/Database.js"
import { forgetAnswersOf } from "../store/ForgottenAnswers.js"
import { deleteSome } from "../store/OwnedRows.js"
import { diskFailed } from "./DiskFailed.js"
import { makeOverwriting } from "./Overwriting.js"
import { resourceReceipts } from "./ResourceReceipts.js"

const actor = systemActor("deletion")

/** Sessions of one commit, each with an event. */
const batchOfSessions = 50

/** Rows of one commit. Other writers wait for it. */
const batch = 500

/** Deletes all that is of a project. Every step can be repeated, so that an attempt goes on where the last one ended. */
export const projectDeletionJob = Effect.gen(function* () {
  const db = yield* Database
  const overwrite = yield* makeOverwriting
  const receipts = yield* resourceReceipts
  const removal = yield* projectRemoval
  const uses = yield* projectUses
  const { disk } = yield* Bench

  return {
    kind: projectDeletionKind,
    concurrency: 1,
    deadlineMs: 60 * 60_000,
    run: fn("projectDeletionJob.run")(function* ({ claim, commit }) {
      const { id } = claim.subject
      while ((yield* commit(uses.release(id, actor, batchOfSessions))) === batchOfSessions);
      yield* failpoint("deletion.project_released")
      yield* Effect.mapError(disk.removeOwned([id]), diskFailed)
      for (const owned of projectRows) while ((yield* commit(deleteSome(db, owned, id, batch))) === batch);
      for (const pattern of answersOf(id)) while ((yield* commit(forgetAnswersOf(db, pattern, batch))) === batch);
      yield* failpoint("deletion.project_rows_deleted")
      yield* overwrite
      return {
        state: "succeeded" as const,
        command: Effect.all([uses.release(id, actor, batch), removal.remove(id), receipts.finish(id)], {
          discard: true
        })
      }
    }),
    failed: () => Effect.void,
    lost: () => Effect.succeed({ next: "retry" as const, command: Effect.void })
  } satisfies JobKind
})

/** The beginnings of the answers that show a project or one of its versions. An answer that shows a session only names the project. */
const answersOf = (id: string) => [`{"id":"${id}",%`, `{"id":"%","project_id":"${id}","ordinal":%`]
