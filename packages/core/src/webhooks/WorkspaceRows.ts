import type { OwnedRows } from "../store/OwnedRows.js"

/** The positions up to which couriers have read. A courier that has none writes nothing more. */
export const followedRows: ReadonlyArray<OwnedRows> = [
  { table: "followers", of: (sql, id) => sql`key in (select id from webhook_endpoints where workspace_id = ${id})` }
]

const inWorkspace = (table: string, column: string): OwnedRows => ({
  table,
  of: (sql, id) => sql`${sql.literal(column)} in (select webhook_deliveries.id from webhook_deliveries
    join webhook_endpoints on webhook_endpoints.id = endpoint_id where webhook_endpoints.workspace_id = ${id})`
})

/** The endpoints of a workspace with all that was sent to them. */
export const workspaceRows: ReadonlyArray<OwnedRows> = [
  inWorkspace("webhook_attempts", "delivery_id"),
  inWorkspace("webhook_deliveries", "id"),
  { table: "webhook_endpoints", of: (sql, id) => sql`workspace_id = ${id}` }
]
