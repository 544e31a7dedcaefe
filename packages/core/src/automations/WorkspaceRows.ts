import type { OwnedRows } from "../store/OwnedRows.js"

/** The automations of a workspace with their runs. */
export const workspaceRows: ReadonlyArray<OwnedRows> = [
  {
    table: "followers",
    of: (sql, id) =>
      sql`name = 'automations' and substr(key, 1, 30) in (select id from automations where workspace_id = ${id})`
  },
  { table: "automation_runs", of: (sql, id) => sql`workspace_id = ${id}` },
  { table: "automations", of: (sql, id) => sql`workspace_id = ${id}` }
]
