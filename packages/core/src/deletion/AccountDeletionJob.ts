import { failpoint } from "@reins/base/base/Failpoint"
import { fn } from "@reins/base/base/Traced"
import { Effect } from "effect"
import { accountRows as ofBudgets } from "../budgets/WorkspaceRows.js"
import { accountRows as ofConnections } from "../connections/WorkspaceRows.js"
import { outboxFiles } from "../identity/OutboxFiles.js"
import { identityRemoval, accountRows as ofIdentity } from "../identity/Removal.js"
import type { JobKind } from "../jobs/JobKind.js"
import { accountRows as ofJobs } from "../jobs/WorkspaceRows.js"
import { accountRows as ofLogins } from "../logins/Rows.js"
import { accountRows as ofOauth } from "../oauth/Rows.js"
import { accountRows as ofPush } from "../push/Rows.js"
import { Database } from "../store/Database.js"
import { deleteAnswersOf, forgetAnswersOf } from "../store/ForgottenAnswers.js"
import { deleteSome } from "../store/OwnedRows.js"
import { accountRows as ofWork } from "../work/AccountRows.js"
import { accountDeletionKind } from "./AccountDeletions.js"
import { makeOverwriting } from "./Overwriting.js"
import { resourceReceipts } from "./ResourceReceipts.js"

/** Rows before those by which they are found. */
const rows = [...ofJobs, ...ofBudgets, ...ofPush, ...ofWork, ...ofLogins, ...ofConnections, ...ofOauth, ...ofIdentity]

/** Rows of one commit. Other writers wait for it. */
const batch = 500

/** Deletes all that belongs to an account alone. Every step can be repeated, so that an attempt goes on where the last one ended. */
export const accountDeletionJob = Effect.gen(function* () {
  const db = yield* Database
  const overwrite = yield* makeOverwriting
  const receipts = yield* resourceReceipts
  const removal = yield* identityRemoval
  const outbox = yield* outboxFiles

  return {
    kind: accountDeletionKind,
    concurrency: 1,
    deadlineMs: 60 * 60_000,
    run: fn("accountDeletionJob.run")(function* ({ claim, commit }) {
      const { id } = claim.subject
      const address = yield* removal.addressOf(id)
      if (address !== undefined) {
        yield* outbox.removeOf(address)
        const shown = `%${JSON.stringify(address).slice(1, -1)}%`
        while ((yield* commit(forgetAnswersOf(db, shown, batch))) === batch);
      }
      for (const owned of rows) while ((yield* commit(deleteSome(db, owned, id, batch))) === batch);
      while ((yield* commit(deleteAnswersOf(db, id, batch))) === batch);
      yield* commit(removal.emptyAccount(id))
      yield* failpoint("deletion.account_rows_deleted")
      yield* overwrite
      return { state: "succeeded" as const, command: Effect.zipRight(removal.removeAccount(id), receipts.finish(id)) }
    }),
    failed: () => Effect.void,
    lost: () => Effect.succeed({ next: "retry" as const, command: Effect.void })
  } satisfies JobKind
})
