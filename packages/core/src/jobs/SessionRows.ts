import type { Fragment } from "@effect/sql/Statement"
import type { Database } from "../store/Database.js"
import type { OwnedRows } from "../store/OwnedRows.js"

/** The kind of the job that deletes a session. */
export const deletionJobKind = "session.delete"

/** The kind of the job that deletes a project. */
export const projectDeletionKind = "project.delete"

/** The tables of what jobs work on besides sessions. */
const subjects = ["turns", "changesets", "deliveries", "applications", "merge_requests", "attentions", "delegations"]

/** The condition of the jobs that work on a session or on what is in it, but for its deletion. */
export const isJobOf = (sql: Database["Type"]["sql"], id: string): Fragment => {
  const parts = subjects.map((table) => sql`select id from ${sql.literal(table)} where session_id = ${id}`)
  return sql.and([
    sql`jobs.kind <> ${deletionJobKind}`,
    sql.or([
      sql`jobs.session_id = ${id}`,
      sql`jobs.subject_id = ${id}`,
      ...parts.map((part) => sql`jobs.subject_id in (${part})`)
    ])
  ])
}

/** The jobs of a session and their attempts. They are found by what is in the session, so they go before it. */
export const sessionRows: ReadonlyArray<OwnedRows> = [
  { table: "attempts", of: (sql, id) => sql`job_id in (select jobs.id from jobs where ${isJobOf(sql, id)})` },
  { table: "jobs", of: isJobOf }
]
