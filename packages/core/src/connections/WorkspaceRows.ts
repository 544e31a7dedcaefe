import type { OwnedRows } from "../store/OwnedRows.js"

const ofConnections = (table: string): OwnedRows => ({
  table,
  of: (sql, id) => sql`connection_id in (select id from connections where workspace_id = ${id})`
})

/** The connections of a workspace with their credentials. */
export const workspaceRows: ReadonlyArray<OwnedRows> = [
  ofConnections("connection_validations"),
  ofConnections("credentials"),
  { table: "connections", of: (sql, id) => sql`workspace_id = ${id}` }
]
