import type { OwnedRows } from "../store/OwnedRows.js"

/** The budgets of a session and its turns, and the calls that count for them. They are found by its turns, so they go before those. */
export const sessionRows: ReadonlyArray<OwnedRows> = [
  {
    table: "calls_in_flight",
    of: (sql, id) => sql`turn_id in (select id from turns where session_id = ${id})`
  },
  {
    table: "budgets",
    of: (sql, id) => sql`(subject_id = ${id} or subject_id in (select id from turns where session_id = ${id}))`
  }
]
