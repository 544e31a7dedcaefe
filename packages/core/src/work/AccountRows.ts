import type { OwnedRows } from "../store/OwnedRows.js"

/** The marks of an account. */
export const accountRows: ReadonlyArray<OwnedRows> = [{ table: "seen_marks", of: (sql, id) => sql`account_id = ${id}` }]
