import { fn } from "@reins/base/base/Traced"
import type { AccountId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import { fromNow, now, type Timestamp } from "@reins/base/domain/Timestamp"
import { Context, Effect, Layer } from "effect"
import { type Commit, ringAccess } from "../store/Commit.js"
import { Database } from "../store/Database.js"

/** A login lasts for so many milliseconds after its last use. */
export const idleMs = 7 * 24 * 60 * 60 * 1000

/** A login lasts for so many milliseconds at most. */
export const absoluteMs = 30 * 24 * 60 * 60 * 1000

/** A login as it is stored. `hash` is the digest of its token. */
export interface LoginRow {
  readonly id: string
  readonly hash: string
  readonly account_id: AccountId
  readonly created_at: Timestamp
  readonly last_seen_at: Timestamp
  readonly expires_at: Timestamp
}

/** The rows of logins. A login lasts until it is ended, is not used for `idleMs`, or is `absoluteMs` old. */
export class LoginStore extends Context.Tag("@reins/core/identity/LoginStore")<
  LoginStore,
  {
    /** Stores a new login. */
    readonly insert: (login: LoginRow) => Effect.Effect<void, never, Commit>
    /** The login whose token has that digest. Undefined unless it lasts and its account is active. */
    readonly findLasting: (
      hash: string
    ) => Effect.Effect<Pick<LoginRow, "id" | "account_id" | "last_seen_at"> | undefined>
    /** True while a login lasts. */
    readonly lasts: (loginId: string) => Effect.Effect<boolean>
    /**
     * Writes down that a login is used now, unless it was less than a minute ago. The statement is a commit of its own, because a
     * request that only reads has none.
     */
    readonly noteUse: (login: Pick<LoginRow, "id" | "last_seen_at">) => Effect.Effect<void>
    /** Ends one login. A login that has ended stays as it is. */
    readonly end: (loginId: string) => Effect.Effect<void, never, Commit>
    /** Ends the logins of an account, but not the one that the principal came by. Gives back how many there were. */
    readonly endAll: (accountId: AccountId, kept?: Principal["via"]) => Effect.Effect<number, never, Commit>
    /** The number of logins that began before an instant and still last. */
    readonly countBegunBefore: (before: Timestamp) => Effect.Effect<number>
    /** Deletes the logins that no longer last. Each statement is a commit of its own. */
    readonly purge: Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.effect(
    LoginStore,
    Effect.gen(function* () {
      const db = yield* Database
      const { sql } = db
      const lasting = Effect.gen(function* () {
        const at = yield* now
        const oldest = yield* fromNow(-idleMs)
        return sql`ended_at is null and expires_at > ${at} and last_seen_at > ${oldest}`
      })
      return LoginStore.of({
        insert: (login) => db.run(sql`insert into login_sessions ${sql.insert({ ...login })}`),
        findLasting: Effect.fnUntraced(function* (hash) {
          return yield* db.first(sql<Pick<LoginRow, "id" | "account_id" | "last_seen_at">>`
            select login_sessions.id, account_id, last_seen_at from login_sessions
            join accounts on accounts.id = account_id and accounts.state = 'active'
            where hash = ${hash} and ${yield* lasting}`)
        }),
        lasts: Effect.fnUntraced(function* (loginId) {
          const row = yield* db.first(sql`select id from login_sessions where id = ${loginId} and ${yield* lasting}`)
          return row !== undefined
        }),
        noteUse: Effect.fnUntraced(function* ({ id, last_seen_at }) {
          const minuteAgo = yield* fromNow(-60_000)
          if (last_seen_at > minuteAgo) return
          yield* db.run(sql`update login_sessions set last_seen_at = ${yield* now}
            where id = ${id} and last_seen_at <= ${minuteAgo}`)
        }),
        end: Effect.fnUntraced(function* (loginId) {
          const ended = yield* db.all(sql<
            Pick<LoginRow, "account_id">
          >`update login_sessions set ended_at = ${yield* now}
            where id = ${loginId} and ended_at is null returning account_id`)
          yield* ringAccess(...ended.map(({ account_id }) => account_id))
        }),
        endAll: fn("LoginStore.endAll")(function* (accountId, kept) {
          const keptId = kept?.kind === "login" ? kept.loginId : ""
          const ended = yield* db.all(sql`update login_sessions set ended_at = ${yield* now}
            where account_id = ${accountId} and id <> ${keptId} and ${yield* lasting} returning id`)
          yield* ringAccess(accountId)
          return ended.length
        }),
        countBegunBefore: Effect.fnUntraced(function* (before) {
          const row = yield* db.first(sql<{ count: number }>`select cast(count(*) as integer) as count
            from login_sessions where created_at < ${before} and ${yield* lasting}`)
          return row?.count ?? 0
        }),
        purge: Effect.gen(function* () {
          const at = yield* now
          const oldest = yield* fromNow(-idleMs)
          // Each has an index of its own.
          yield* db.run(sql`delete from login_sessions where ended_at is not null`)
          yield* db.run(sql`delete from login_sessions where expires_at <= ${at}`)
          yield* db.run(sql`delete from login_sessions where last_seen_at <= ${oldest}`)
        })
      })
    })
  )
}
