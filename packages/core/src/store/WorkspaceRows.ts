import type { OwnedRows } from "./OwnedRows.js"

/** The events that tell of the deletion of sessions, and the log of a workspace. */
export const workspaceRows: ReadonlyArray<OwnedRows> = [
  {
    table: "events",
    of: (sql, id) => sql`session_id in (select session_id from session_deletions where workspace_id = ${id})`
  },
  { table: "workspace_events", of: (sql, id) => sql`workspace_id = ${id}` },
  { table: "workspace_logs", of: (sql, id) => sql`workspace_id = ${id}` }
]
