import type { OwnedRows } from "../store/OwnedRows.js"

/** The deliveries of the events of a session with their attempts. The delivery of its deletion stays. */
export const sessionRows: ReadonlyArray<OwnedRows> = [
  {
    table: "webhook_attempts",
    of: (sql, id) => sql`delivery_id in (select id from webhook_deliveries
      where session_id = ${id} and type <> 'session.deleted')`
  },
  { table: "webhook_deliveries", of: (sql, id) => sql`session_id = ${id} and type <> 'session.deleted'` }
]
