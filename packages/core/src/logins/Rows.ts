import type { OwnedRows } from "../store/OwnedRows.js"

/** The logins of an account. */
export const accountRows: ReadonlyArray<OwnedRows> = [
  { table: "connection_logins", of: (sql, id) => sql`account_id = ${id}` }
]

/** The logins for a workspace. */
export const workspaceRows: ReadonlyArray<OwnedRows> = [
  { table: "connection_logins", of: (sql, id) => sql`workspace_id = ${id}` }
]
