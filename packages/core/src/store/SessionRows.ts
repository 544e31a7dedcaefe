import type { OwnedRows } from "./OwnedRows.js"

/** The type of the event that tells of a deletion. It stays for readers of the workspace. */
const lasting = "session.deleted"

const butLasting = (table: string): OwnedRows => ({
  table,
  of: (sql, id) => sql`session_id = ${id} and type <> ${lasting}`
})

/** The events of a session, but for the one that tells of its deletion. The places of the others in their workspace stay empty. */
export const sessionRows: ReadonlyArray<OwnedRows> = [butLasting("workspace_events"), butLasting("events")]

/** The kept answers that show a session. Answers name the session that they belong to. Sealed ones hold secrets of connections and keys alone. */
export const sessionAnswers: OwnedRows = {
  table: "idempotency",
  of: (sql, id) => sql`sealed = 0 and body like ${`%${id}%`}`
}

