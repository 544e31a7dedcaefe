import { Effect } from "effect"
import { Commit } from "./Commit.js"
import type { Database } from "./Database.js"
import type { OwnedRows } from "./OwnedRows.js"

/** The type of the event that tells of a deletion. It stays for readers of the workspace. */
const keptEvent = "session.deleted"

const butKept = (table: string): OwnedRows => ({
  table,
  of: (sql, id) => sql`session_id = ${id} and type <> ${keptEvent}`
})

/** The events of a session, but for the one that tells of its deletion. The places of the others in their workspace stay empty. */
export const sessionRows: ReadonlyArray<OwnedRows> = [butKept("workspace_events"), butKept("events")]

/**
 * Takes a deleted session out of some of the kept answers, at most `limit`, and gives their number. Their keys stay used, so that a retry makes no
 * second session. Answers name the session that they belong to. Sealed ones hold secrets of connections and keys alone. The answer that is the receipt
 * stays.
 */
export const forgetAnswers = ({ all, sql }: Database["Type"], id: string, limit: number) =>
  Effect.zipRight(
    Commit,
    Effect.map(
      all(sql`update idempotency set status = 404, body = ${deletedAnswer} where place in (
          select place from idempotency where sealed = 0 and body like ${`%${id}%`}
            and body not like ${`{"session_id":"${id}","workspace_id":"%`} limit ${limit}
        ) returning 1 as forgotten`),
      (rows) => rows.length
    )
  )

/** The envelope of an error, as a request is answered whose first answer showed a session that is deleted. */
const deletedAnswer = JSON.stringify({
  error: {
    code: "not_found",
    category: "request",
    message: "The answer to this Idempotency-Key showed a session that is deleted. Send a new key for a new request.",
    retryable: false,
    details: {},
    request_id: ""
  }
})
