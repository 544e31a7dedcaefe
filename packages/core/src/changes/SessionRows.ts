import { bySession, type OwnedRows } from "../store/OwnedRows.js"

/** The changesets of a session and the ways that they went, and what was applied to it. */
export const sessionRows: ReadonlyArray<OwnedRows> = [
  bySession("merge_requests"),
  bySession("deliveries"),
  { table: "applications", of: (sql, id) => sql`(session_id = ${id} or target_session_id = ${id})` },
  bySession("changesets")
]
