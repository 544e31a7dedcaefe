import type { OwnedRows } from "../store/OwnedRows.js"

const inDelegations = (table: string): OwnedRows => ({
  table,
  of: (sql, id) =>
    sql`delegation_id in (select id from delegations where session_id = ${id} or child_session_id = ${id})`
})

/** The delegations that a session has made, and the one that it works for. */
export const sessionRows: ReadonlyArray<OwnedRows> = [
  inDelegations("delegation_waits"),
  inDelegations("delegation_results"),
  { table: "delegations", of: (sql, id) => sql`(session_id = ${id} or child_session_id = ${id})` }
]
