import { bySession, type OwnedRows } from "../store/OwnedRows.js"

/** The changesets of a session, and what was applied to it. */
export const sessionRows: ReadonlyArray<OwnedRows> = [
  { table: "applications", of: (sql, id) => sql`(session_id = ${id} or target_session_id = ${id})` },
  bySession("changesets")
]
