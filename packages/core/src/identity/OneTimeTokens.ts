import { Effect, type Redacted } from "effect"
import { fromNow, now } from "../domain/Timestamp.js"
import * as Token from "../secrets/Token.js"
import type { Database } from "../store/Database.js"

/** What a token in a mail is good for, how long, and what its subject is: an account, or the invitation to a workspace. */
const lifetimeMs = {
  verify_email: 24 * 60 * 60 * 1000,
  reset_password: 60 * 60 * 1000,
  join_workspace: 7 * 24 * 60 * 60 * 1000
} as const
export type Purpose = keyof typeof lifetimeMs

type Db = Database["Type"]

/** A new token for a subject. The ones before it stay good, since their mail may be the one that arrives. */
export const issue = (db: Db, purpose: Purpose, subjectId: string): Effect.Effect<Redacted.Redacted> =>
  Effect.gen(function* () {
    const token = yield* Token.random
    const row = {
      hash: Token.digest(token),
      purpose,
      subject_id: subjectId,
      created_at: yield* now,
      expires_at: yield* fromNow(lifetimeMs[purpose])
    }
    yield* db.run(db.sql`insert into one_time_tokens ${db.sql.insert(row)}`)
    return token
  })

/** The subject of a token that could be used now; undefined for one that was used, has expired or never was. */
export const find = (db: Db, purpose: Purpose, token: Redacted.Redacted): Effect.Effect<string | undefined> =>
  Effect.gen(function* () {
    const at = yield* now
    const row = yield* db.first(db.sql<{ subject_id: string }>`select subject_id from one_time_tokens
      where hash = ${Token.digest(token)} and purpose = ${purpose} and used_at is null and expires_at > ${at}`)
    return row?.subject_id
  })

/** `find`, and the token is used up. Of many that use it at the same time one succeeds. */
export const use = (db: Db, purpose: Purpose, token: Redacted.Redacted): Effect.Effect<string | undefined> =>
  Effect.gen(function* () {
    const at = yield* now
    const row = yield* db.first(db.sql<{ subject_id: string }>`update one_time_tokens set used_at = ${at}
      where hash = ${Token.digest(token)} and purpose = ${purpose} and used_at is null and expires_at > ${at}
      returning subject_id`)
    return row?.subject_id
  })

/** Uses up every token that a subject has for a purpose. */
export const voidAll = (db: Db, purpose: Purpose, subjectId: string): Effect.Effect<void> =>
  Effect.flatMap(now, (at) =>
    db.run(db.sql`update one_time_tokens set used_at = ${at}
      where subject_id = ${subjectId} and purpose = ${purpose} and used_at is null`)
  )

/** Deletes the tokens that have expired. */
export const purge = (db: Db): Effect.Effect<void> =>
  Effect.flatMap(now, (at) => db.run(db.sql`delete from one_time_tokens where expires_at <= ${at}`))

/** How long an invitation stands: as long as its links. */
export const invitationMs = lifetimeMs.join_workspace
