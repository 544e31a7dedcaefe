import type { OwnedRows } from "../store/OwnedRows.js"

/** The sums of what the sessions of a workspace have used, which outlive the sessions. */
export const workspaceRows: ReadonlyArray<OwnedRows> = [
  { table: "usage_days", of: (sql, id) => sql`workspace_id = ${id}` }
]
