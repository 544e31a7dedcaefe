import type { SessionId } from "@reins/base/domain/Ids"
import { Effect } from "effect"
import { sessionRows as ofArtifacts } from "../artifacts/SessionRows.js"
import { sessionRows as ofAutomations } from "../automations/SessionRows.js"
import { sessionRows as ofBudgets } from "../budgets/SessionRows.js"
import { sessionRows as ofChanges } from "../changes/SessionRows.js"
import { sessionRows as ofDelegations } from "../delegations/SessionRows.js"
import { sessionRows as ofDeliveries } from "../deliveries/SessionRows.js"
import type { RunningAttempt } from "../jobs/JobKind.js"
import { sessionRows as ofJobs } from "../jobs/SessionRows.js"
import { sessionRows as ofRequests } from "../requests/SessionRows.js"
import { sessionRemoval } from "../sessions/SessionRemoval.js"
import { sessionRows as ofSessions } from "../sessions/SessionRows.js"
import { sessionRows as ofShares } from "../shares/SessionRows.js"
import { Database } from "../store/Database.js"
import { deleteSome, type OwnedRows } from "../store/OwnedRows.js"
import { forgetAnswers, sessionRows as ofLogs } from "../store/SessionRows.js"
import { sessionRows as ofTools } from "../tools/SessionRows.js"
import { sessionRows as ofWebhooks } from "../webhooks/SessionRows.js"
import { sessionRows as ofWorktrees } from "../worktrees/SessionRows.js"

/**
 * Rows before those that they refer to. Those of jobs and budgets are found by what is in the session. Deliveries come after the events, because a
 * courier makes them of events that it still finds.
 */
const rows: ReadonlyArray<OwnedRows> = [
  ...ofJobs,
  ...ofBudgets,
  ...ofDelegations,
  ...ofAutomations,
  ...ofWorktrees,
  ...ofRequests,
  ...ofDeliveries,
  ...ofChanges,
  ...ofShares,
  ...ofTools,
  ...ofArtifacts,
  ...ofSessions,
  ...ofLogs,
  ...ofWebhooks
]

/** Rows of one commit. Other writers wait for it. */
const batch = 500

/** Texts of one commit whose words are taken from the search, which takes up to ten milliseconds for each. */
const batchOfTexts = 5

/** Deletes the rows of a session, a batch in each commit. */
export const makeDeleteRows = Effect.gen(function* () {
  const db = yield* Database
  const removal = yield* sessionRemoval

  return Effect.fnUntraced(function* (id: SessionId, { commit }: RunningAttempt) {
    while ((yield* commit(removal.forgetWords(id, batchOfTexts))) === batchOfTexts);
    for (const owned of rows) while ((yield* commit(deleteSome(db, owned, id, batch))) === batch);
    while ((yield* commit(forgetAnswers(db, id, batch))) === batch);
    yield* commit(removal.empty(id))
  })
})
