import type { OwnedRows } from "../store/OwnedRows.js"

/** The hooks of a workspace with what came in. */
export const workspaceRows: ReadonlyArray<OwnedRows> = [
  { table: "hook_receipts", of: (sql, id) => sql`hook_id in (select id from hooks where workspace_id = ${id})` },
  { table: "hooks", of: (sql, id) => sql`workspace_id = ${id}` }
]
