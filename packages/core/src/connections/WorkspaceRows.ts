import type { OwnedRows } from "../store/OwnedRows.js"

const ofConnections = (table: string): OwnedRows => ({
  table,
  of: (sql, id) => sql`connection_id in (select id from connections where workspace_id = ${id})`
})

const personal: OwnedRows["of"] = (sql, id) => sql`settings like ${`%"account_id":"${id}"%`}`

const ofPersonal = (table: string): OwnedRows => ({
  table,
  of: (sql, id) => sql`connection_id in (select id from connections where ${personal(sql, id)})`
})

/** The connections that an account has made for itself, with their credentials. */
export const accountRows: ReadonlyArray<OwnedRows> = [
  ofPersonal("connection_validations"),
  ofPersonal("credentials"),
  { table: "connections", of: personal }
]

/** The connections of a workspace with their credentials. */
export const workspaceRows: ReadonlyArray<OwnedRows> = [
  ofConnections("connection_validations"),
  ofConnections("credentials"),
  { table: "connections", of: (sql, id) => sql`workspace_id = ${id}` }
]
