import type { OwnedRows } from "../store/OwnedRows.js"

/** What an account has seen. */
export const accountRows: ReadonlyArray<OwnedRows> = [{ table: "seen_marks", of: (sql, id) => sql`account_id = ${id}` }]
