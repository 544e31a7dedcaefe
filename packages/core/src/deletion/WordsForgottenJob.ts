import { fn } from "@reins/base/base/Traced"
import { Effect } from "effect"
import type { JobKind } from "../jobs/JobKind.js"
import { forgetWordsKind, mailRowsOf } from "../jobs/WordsForgetting.js"
import { Database } from "../store/Database.js"
import { forgetAnswersOf } from "../store/ForgottenAnswers.js"
import { deleteSome } from "../store/OwnedRows.js"
import { makeOverwriting } from "./Overwriting.js"

/** Rows of one commit. Other writers wait for it. */
const batch = 500

/** Takes the words of a deleted automation or hook out of kept answers, mails and the log of the database. */
export const wordsForgottenJob = Effect.gen(function* () {
  const db = yield* Database
  const overwrite = yield* makeOverwriting

  return {
    kind: forgetWordsKind,
    concurrency: 1,
    deadlineMs: 10 * 60_000,
    run: fn("wordsForgottenJob.run")(function* ({ claim, commit }) {
      const { id } = claim.subject
      while ((yield* commit(forgetAnswersOf(db, `{"id":"${id}",%`, batch))) === batch);
      for (const owned of mailRowsOf) while ((yield* commit(deleteSome(db, owned, id, batch))) === batch);
      yield* overwrite
      return { state: "succeeded" as const, command: Effect.void }
    }),
    failed: () => Effect.void,
    lost: () => Effect.succeed({ next: "retry" as const, command: Effect.void })
  } satisfies JobKind
})
