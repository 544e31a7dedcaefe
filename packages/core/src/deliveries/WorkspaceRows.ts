import type { OwnedRows } from "../store/OwnedRows.js"

/** The signing keys of a workspace. */
export const workspaceRows: ReadonlyArray<OwnedRows> = [
  { table: "signing_keys", of: (sql, id) => sql`workspace_id = ${id}` }
]
