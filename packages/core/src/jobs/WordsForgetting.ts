import type { WorkspaceId } from "@reins/base/domain/Ids"
import type { OwnedRows } from "../store/OwnedRows.js"
import type { NewJob } from "./JobStore.js"

/** The kind of the job that takes the words of something deleted out of what is kept beside its rows. */
export const forgetWordsKind = "words.forget"

/** The job for an automation or a hook whose rows are gone. */
export const forgetWordsOf = (type: "automation" | "hook", id: string, workspaceId: WorkspaceId): NewJob => ({
  kind: forgetWordsKind,
  subject: { type, id },
  workspaceId,
  payload: {},
  // An obstacle to a deletion passes, or the operator mends it.
  maxAttempts: 1_000_000
})

/** The jobs of mails that name an automation. One that is being sent ends by itself. */
export const mailRowsOf: ReadonlyArray<OwnedRows> = (["attempts", "jobs"] as const).map((table) => ({
  table,
  of: (sql, id) =>
    sql`${sql.literal(table === "jobs" ? "id" : "job_id")} in (select jobs.id from jobs
      where jobs.kind = 'mail.send' and jobs.state <> 'running' and jobs.payload like ${`%"automation_id":"${id}"%`})`
}))
