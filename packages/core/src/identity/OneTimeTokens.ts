import { fromNow, now } from "@reins/base/domain/Timestamp"
import * as Token from "@reins/base/secrets/Token"
import { Effect, type Redacted } from "effect"
import type { Commit } from "../store/Commit.js"
import type { Database } from "../store/Database.js"

/** The lifetime of a token for each purpose. The subject of `join_workspace` is an invitation, that of the others an account. */
const lifetimeMs = {
  verify_email: 24 * 60 * 60 * 1000,
  reset_password: 60 * 60 * 1000,
  join_workspace: 7 * 24 * 60 * 60 * 1000
} as const
/** The one act that the token in a mail allows. */
export type Purpose = keyof typeof lifetimeMs

type Db = Database["Type"]

/** Makes a new token for a subject. Earlier tokens stay good, because theirs may be the mail that arrives. */
export const issue = (db: Db, purpose: Purpose, subjectId: string): Effect.Effect<Redacted.Redacted, never, Commit> =>
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

/** The subject of a token, which stays unused. Undefined when the token was used, has expired or never existed. */
export const tokenSubject = (db: Db, purpose: Purpose, token: Redacted.Redacted): Effect.Effect<string | undefined> =>
  Effect.gen(function* () {
    const at = yield* now
    const row = yield* db.first(db.sql<{ subject_id: string }>`select subject_id from one_time_tokens
      where hash = ${Token.digest(token)} and purpose = ${purpose} and used_at is null and expires_at > ${at}`)
    return row?.subject_id
  })

/** Uses a token up and gives back its subject. When several callers use it at the same time, one of them gets the subject. */
export const use = (
  db: Db,
  purpose: Purpose,
  token: Redacted.Redacted
): Effect.Effect<string | undefined, never, Commit> =>
  Effect.gen(function* () {
    const at = yield* now
    const row = yield* db.first(db.sql<{ subject_id: string }>`update one_time_tokens set used_at = ${at}
      where hash = ${Token.digest(token)} and purpose = ${purpose} and used_at is null and expires_at > ${at}
      returning subject_id`)
    return row?.subject_id
  })

/** Uses up every token that a subject has for a purpose. */
export const voidAll = (db: Db, purpose: Purpose, subjectId: string): Effect.Effect<void, never, Commit> =>
  Effect.flatMap(now, (at) =>
    db.run(db.sql`update one_time_tokens set used_at = ${at}
      where subject_id = ${subjectId} and purpose = ${purpose} and used_at is null`)
  )

/** Deletes the tokens that have expired. The statement is a commit of its own. */
export const purge = (db: Db): Effect.Effect<void> =>
  Effect.flatMap(now, (at) => db.run(db.sql`delete from one_time_tokens where expires_at <= ${at}`))

/** An invitation lasts as long as the token in its mail. */
export const invitationMs = lifetimeMs.join_workspace
