import type { OwnedRows } from "../store/OwnedRows.js"

/** Jobs of a condition with their attempts. */
const jobsWhere = (of: OwnedRows["of"]): ReadonlyArray<OwnedRows> => [
  { table: "attempts", of: (sql, id) => sql`job_id in (select jobs.id from jobs where ${of(sql, id)})` },
  { table: "jobs", of }
]

/** The jobs of a workspace and the mails of its invitations. They are found by the invitations, so they go before those. */
export const workspaceRows = jobsWhere(
  (sql, id) => sql`(jobs.workspace_id = ${id} or jobs.subject_id in (
    select id from workspace_invitations where workspace_id = ${id}))`
)

/** The mails to an account, and those of its invitations. */
export const accountRows = jobsWhere(
  (sql, id) => sql`(jobs.kind = 'mail.send' and (jobs.subject_id = ${id} or jobs.subject_id in (
    select id from workspace_invitations where invited_by = ${id}
      or email = (select email from accounts where accounts.id = ${id}))))`
)
