import { randomUUID } from "node:crypto"
import { Context, Data, Effect, Layer, Redacted } from "effect"
import type { Login, LoginInput } from "../api/AccountsApi.js"
import { fn } from "../base/Traced.js"
import type { AccountId } from "../domain/Ids.js"
import type { Principal } from "../domain/Principal.js"
import { ReinsError } from "../domain/ReinsError.js"
import { fromNow, now, type Timestamp } from "../domain/Timestamp.js"
import * as Token from "../secrets/Token.js"
import { Vault } from "../secrets/Vault.js"
import type { Command } from "../store/Command.js"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import { defectFields } from "../store/FailedStatement.js"
import { Journal } from "../store/Journal.js"
import { type AccountRow, findByEmail, normaliseEmail, toAccount } from "./AccountRow.js"
import * as PasswordGuesses from "./PasswordGuesses.js"
import { Passwords } from "./Passwords.js"

export interface LoggedIn {
  readonly login: Login
  /** What the cookie holds. It is stored as a hash and cannot be read again. */
  readonly token: Redacted.Redacted
  readonly csrfToken: string
  readonly expiresAt: Timestamp
}

/** How long a login lasts without being used, and at most. */
export const idleMs = 7 * 24 * 60 * 60 * 1000
export const absoluteMs = 30 * 24 * 60 * 60 * 1000

/** People who log in with a password, and what their browser holds afterwards. */
export class LoginSessions extends Context.Tag("@reins/core/identity/LoginSessions")<
  LoginSessions,
  {
    /**
     * A new login with a new token. A wrong password, an unknown address and a disabled account fail with the same
     * `invalid_credentials` after the same work; `email_unverified` is told to whoever knows the password. After 10 failures of an
     * address or 50 of a client within 15 minutes everything fails with `rate_limited`.
     */
    readonly login: (
      input: typeof LoginInput.Type,
      client: { readonly clientAddress: string }
    ) => Effect.Effect<LoggedIn, ReinsError>
    /** Who holds the token; undefined when the login has ended, expired or never was, or the account is disabled. */
    readonly authenticate: (token: Redacted.Redacted) => Effect.Effect<Principal | undefined>
    /** Ends the logins of an account but the one that is kept, and gives back how many there were. */
    readonly endAll: (accountId: AccountId, kept?: Principal["via"]) => Effect.Effect<number, never, Commit>
    /** Ends the login that the principal came by. Nothing happens for other credentials. */
    readonly logout: (principal: Principal) => Command<void>
    /** Whether the token was given to the login of this principal. False for other credentials. */
    readonly verifyCsrf: (principal: Principal, csrfToken: string) => boolean
    /** How many logins last that began before an instant. */
    readonly countBegunBefore: (before: Timestamp) => Effect.Effect<number>
    /** Deletes the logins and failures that no longer count. */
    readonly purge: Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.effect(
    LoginSessions,
    Effect.gen(function* () {
      const db = yield* Database
      const { sql } = db
      const journal = yield* Journal
      const passwords = yield* Passwords
      const vault = yield* Vault
      const guesses = yield* PasswordGuesses.make

      /** The account, if the password is its own. */
      const checkPassword = Effect.fnUntraced(function* (email: string, password: Redacted.Redacted) {
        const account = yield* findByEmail(db, email)
        if (account === undefined) {
          yield* passwords.dummyVerify(password)
          return undefined
        }
        const right = yield* passwords.verify(account.password_hash, password)
        return right && account.state !== "disabled" ? account : undefined
      })

      /** The account with the hash that it has afterwards, unless it was changed meanwhile. */
      const renewHash = Effect.fnUntraced(function* (account: AccountRow, password: Redacted.Redacted) {
        if (!passwords.needsRehash(account.password_hash)) return account
        const hash = yield* passwords.hash(password)
        const at = yield* now
        yield* journal.commit(
          db.run(sql`update accounts set password_hash = ${hash}, updated_at = ${at}
            where id = ${account.id} and password_hash = ${account.password_hash}`)
        )
        return { ...account, password_hash: hash }
      })

      /** Fails when the password is no longer the one that was checked: a login must not outlive its change. */
      const open = Effect.fnUntraced(function* (account: AccountRow) {
        const same = yield* db.first(sql`select id from accounts
          where id = ${account.id} and password_hash = ${account.password_hash}${db.forUpdate}`)
        if (same === undefined) return yield* new PasswordReplaced()
        const at = yield* now
        const token = yield* Token.random
        const expiresAt = yield* fromNow(absoluteMs)
        const id = randomUUID()
        const row = {
          id,
          hash: Token.digest(token),
          account_id: account.id,
          created_at: at,
          last_seen_at: at,
          expires_at: expiresAt
        }
        yield* guesses.forget(account.email)
        yield* db.run(sql`insert into login_sessions ${sql.insert(row)}`)
        const csrfToken = csrfTokenOf(vault, id)
        const login: Login = { account: toAccount(account), csrf_token: csrfToken, expires_at: expiresAt }
        return { login, token, csrfToken, expiresAt }
      })

      return LoginSessions.of({
        login: fn("LoginSessions.login")(function* (input, { clientAddress }) {
          const email = normaliseEmail(input.email)
          const password = Redacted.make(input.password)
          const check = guesses.attempt({ email, clientAddress }, checkPassword(email, password), invalidCredentials)
          return yield* Effect.gen(function* () {
            const account = yield* check
            if (account.state === "unverified") return yield* emailUnverified
            // A server too busy for another hash renews it at a later login.
            const renewed = yield* Effect.catchTag(renewHash(account, password), "ReinsError", () =>
              Effect.succeed(account)
            )
            return yield* journal.commit(open(renewed))
          }).pipe(
            Effect.retry({ while: (error) => error._tag === "PasswordReplaced", times: 3 }),
            Effect.catchTag("PasswordReplaced", () => invalidCredentials)
          )
        }),
        authenticate: fn("LoginSessions.authenticate")(function* (token) {
          const at = yield* now
          const oldest = yield* fromNow(-idleMs)
          const row =
            yield* db.first(sql<LoginRow>`select login_sessions.id, account_id, last_seen_at from login_sessions
            join accounts on accounts.id = account_id and accounts.state = 'active'
            where hash = ${Token.digest(token)} and ended_at is null and expires_at > ${at} and last_seen_at > ${oldest}`)
          if (row === undefined) return undefined
          const minuteAgo = yield* fromNow(-60_000)
          if (row.last_seen_at <= minuteAgo) {
            // Who is logged in may read although nothing can be written now.
            yield* Effect.catchAllDefect(
              db.run(sql`update login_sessions set last_seen_at = ${at}
                where id = ${row.id} and last_seen_at <= ${minuteAgo}`),
              (defect) =>
                Effect.annotateLogs(Effect.logWarning("the last use of a login was not written"), defectFields(defect))
            )
          }
          return {
            accountId: row.account_id,
            scopes: ["admin"],
            workspaceId: null,
            via: { kind: "login", loginId: row.id }
          }
        }),
        endAll: fn("LoginSessions.endAll")(function* (accountId, kept) {
          const at = yield* now
          const oldest = yield* fromNow(-idleMs)
          const keptId = kept?.kind === "login" ? kept.loginId : ""
          const ended = yield* db.all(sql`update login_sessions set ended_at = ${at}
            where account_id = ${accountId} and id <> ${keptId} and ended_at is null and expires_at > ${at}
            and last_seen_at > ${oldest} returning id`)
          return ended.length
        }),
        logout: ({ via }) =>
          journal.command(
            "LoginSessions.logout",
            Effect.gen(function* () {
              if (via.kind !== "login") return
              const at = yield* now
              yield* db.run(
                sql`update login_sessions set ended_at = ${at} where id = ${via.loginId} and ended_at is null`
              )
            })
          ),
        verifyCsrf: ({ via }, csrfToken) =>
          via.kind === "login" && vault.verifyMac(csrfPurpose, via.loginId, csrfToken),
        countBegunBefore: fn("LoginSessions.countBegunBefore")(function* (before) {
          const at = yield* now
          const oldest = yield* fromNow(-idleMs)
          const row = yield* db.first(sql<{
            count: number
          }>`select cast(count(*) as integer) as count from login_sessions
            where created_at < ${before} and ended_at is null and expires_at > ${at} and last_seen_at > ${oldest}`)
          return row?.count ?? 0
        }),
        purge: Effect.gen(function* () {
          const at = yield* now
          const oldest = yield* fromNow(-idleMs)
          yield* db.run(sql`delete from login_sessions
            where ended_at is not null or expires_at <= ${at} or last_seen_at <= ${oldest}`)
          yield* guesses.purge
        })
      })
    })
  )
}

interface LoginRow {
  readonly id: string
  readonly account_id: AccountId
  readonly last_seen_at: Timestamp
}

const csrfPurpose = "csrf"

/** The token that a browser must send besides its cookie; the same for as long as the login lasts. */
export const csrfTokenOf = (vault: Vault["Type"], loginId: string): string => vault.mac(csrfPurpose, loginId)

/** The password was changed between its check and the login. */
class PasswordReplaced extends Data.TaggedError("PasswordReplaced") {}

const invalidCredentials = new ReinsError({
  code: "invalid_credentials",
  message: "The e-mail address or the password is wrong."
})

const emailUnverified = new ReinsError({
  code: "email_unverified",
  message:
    "The e-mail address is not verified yet. Open the link that was mailed to it, or ask for a new one at /api/auth/email-verifications."
})
