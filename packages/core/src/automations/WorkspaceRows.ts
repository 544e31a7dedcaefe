import type { OwnedRows } from "../store/OwnedRows.js"

/** The automations of a workspace with their runs. */
export const workspaceRows: ReadonlyArray<OwnedRows> = [
  { table: "automation_runs", of: (sql, id) => sql`workspace_id = ${id}` },
  { table: "automations", of: (sql, id) => sql`workspace_id = ${id}` }
]
