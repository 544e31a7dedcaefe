import { Effect } from "effect"
import { Commit } from "./Commit.js"
import type { Database } from "./Database.js"

/** The envelope of an error, as a request is answered whose first answer showed something that is deleted. */
const answer = JSON.stringify({
  error: {
    code: "not_found",
    category: "request",
    message: "The answer to this Idempotency-Key showed what is deleted. Send a new key for a new request.",
    retryable: false,
    details: {},
    request_id: ""
  }
})

/**
 * Empties some of the kept answers whose text is like a pattern, at most `limit`, and gives their number. Their keys stay used, so that a retry makes
 * nothing again.
 */
export const forgetAnswersOf = ({ all, sql }: Database["Type"], pattern: string, limit: number) =>
  Effect.zipRight(
    Commit,
    Effect.map(
      all(sql`update idempotency set status = 404, body = ${answer} where place in (
          select place from idempotency where sealed = 0 and body like ${pattern} limit ${limit}
        ) returning 1 as forgotten`),
      (rows) => rows.length
    )
  )

/**
 * Empties some of the kept answers of a workspace, and of those whose text names it, at most `limit`, and gives their number. The answer that is its
 * receipt stays.
 */
export const forgetAnswersIn = ({ all, sql }: Database["Type"], workspaceId: string, limit: number) =>
  Effect.zipRight(
    Commit,
    Effect.map(
      all(sql`update idempotency set status = 404, sealed = 0, body = ${answer} where place in (
          select place from idempotency where body is not null and body <> ${answer}
            and body not like ${`{"kind":"workspace","id":"${workspaceId}",%`}
            and (scope like ${`%:${workspaceId}`} or scope like ${`%:${workspaceId}|%`}
              or (sealed = 0 and body like ${`%${workspaceId}%`}))
          limit ${limit}
        ) returning 1 as forgotten`),
      (rows) => rows.length
    )
  )

/** Deletes some of the kept answers of an account, at most `limit`, and gives their number. Nobody can ask for them again. */
export const deleteAnswersOf = ({ all, dialect, sql }: Database["Type"], accountId: string, limit: number) => {
  const place = sql.literal(dialect === "pg" ? "ctid" : "rowid")
  return Effect.zipRight(
    Commit,
    Effect.map(
      all(sql`delete from idempotency where ${place} in (
          select ${place} from idempotency
          where scope = ${accountId} or scope like ${`${accountId}:%`} or scope like ${`${accountId}|%`} limit ${limit}
        ) returning 1 as deleted`),
      (rows) => rows.length
    )
  )
}
