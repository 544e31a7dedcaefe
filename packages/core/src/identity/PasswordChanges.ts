import { Context, Effect, Layer, Redacted } from "effect"
import { Access } from "../access/Access.js"
import type { PasswordChange, PasswordChangeInput, PasswordResetInput } from "../api/AccountsApi.js"
import { AccountId, newId } from "../domain/Ids.js"
import type { Principal } from "../domain/Principal.js"
import { notFound, ReinsError } from "../domain/ReinsError.js"
import type { RequestInvalid } from "../domain/RequestInvalid.js"
import { now } from "../domain/Timestamp.js"
import { JobStore } from "../jobs/JobStore.js"
import type { Command } from "../store/Command.js"
import { Database } from "../store/Database.js"
import { Journal } from "../store/Journal.js"
import { type AccountRow, findById, lockByEmail, normaliseEmail } from "./AccountRow.js"
import { LoginSessions } from "./LoginSessions.js"
import { mailTo } from "./MailJob.js"
import * as OneTimeTokens from "./OneTimeTokens.js"
import * as PasswordGuesses from "./PasswordGuesses.js"
import * as PasswordRules from "./PasswordRules.js"
import { Passwords } from "./Passwords.js"
import * as Throttle from "./Throttle.js"

/**
 * Replaces the passwords of accounts. Whoever held the old one is out: its logins end, its links stop working, and the owner is told
 * by mail. API keys go on.
 */
export class PasswordChanges extends Context.Tag("@reins/core/identity/PasswordChanges")<
  PasswordChanges,
  {
    /**
     * Needs the current password, whose failures count like those of logins: a wrong one fails with `invalid_credentials`. The
     * login that the caller came by goes on, every other one of the account ends. Credentials for one workspace are `forbidden`.
     */
    readonly change: (
      principal: Principal,
      input: typeof PasswordChangeInput.Type,
      client: { readonly clientAddress: string }
    ) => Command<typeof PasswordChange.Type, ReinsError | RequestInvalid>
    /**
     * An address has a link sent if it has an account, and is answered the same if not; at most 3 such mails go to it in an hour.
     * A token from a link sets the password once and ends every login; a used, expired or unknown one fails with `token_expired`.
     */
    readonly reset: (
      input: typeof PasswordResetInput.Type
    ) => Command<{ readonly status: "accepted" | "reset" }, ReinsError | RequestInvalid>
  }
>() {
  static readonly layer = Layer.effect(
    PasswordChanges,
    Effect.gen(function* () {
      const db = yield* Database
      const { sql } = db
      const access = yield* Access
      const journal = yield* Journal
      const jobs = yield* JobStore
      const logins = yield* LoginSessions
      const passwords = yield* Passwords
      const guesses = yield* PasswordGuesses.make
      const throttle = yield* Throttle.make

      /** Puts a hash in the place of the one that was read, and ends what hung on that one, but the logins. */
      const replace = Effect.fnUntraced(function* (account: AccountRow, hash: string) {
        const at = yield* now
        const replaced = yield* db.first(sql`update accounts set password_hash = ${hash}, updated_at = ${at}
          where id = ${account.id} and password_hash = ${account.password_hash} and state = 'active' returning id`)
        if (replaced === undefined) return yield* changedMeanwhile
        yield* OneTimeTokens.voidAll(db, "reset_password", account.id)
        yield* guesses.forget(account.email)
        yield* jobs.enqueue(mailTo(account.id, "password_changed"))
      })

      const requestLink = Effect.fnUntraced(function* (given: string) {
        const email = normaliseEmail(given)
        const account = yield* lockByEmail(db, email)
        if (yield* throttle.take(resetLimit, email)) {
          // A job for nobody does nothing, and costs the time that a mail does: so no answer tells whether there is an account.
          const accountId = account?.id ?? (yield* newId(AccountId))
          // The owner of an address that was never verified needs to do that first, and gets the link for it.
          yield* jobs.enqueue(mailTo(accountId, account?.state === "unverified" ? "verify_email" : "reset_password"))
        }
        return { status: "accepted" as const }
      })

      const useLink = Effect.fnUntraced(function* (token: Redacted.Redacted, password: Redacted.Redacted) {
        const accountId = yield* OneTimeTokens.find(db, "reset_password", token)
        const account = accountId === undefined ? undefined : yield* findById(db, accountId)
        if (account?.state !== "active") return yield* tokenExpired
        // A password that is refused leaves the token good for another one.
        yield* PasswordRules.check(password, account.email, "new_password")
        const hash = yield* passwords.hash(password)
        return Effect.gen(function* () {
          if ((yield* OneTimeTokens.use(db, "reset_password", token)) === undefined) return yield* tokenExpired
          yield* replace(account, hash)
          yield* logins.endAll(account.id)
          return { status: "reset" as const }
        })
      })

      return PasswordChanges.of({
        change: (principal, input, { clientAddress }) =>
          journal.prepared(
            "PasswordChanges.change",
            Effect.gen(function* () {
              yield* access.requireScope(principal, "admin")
              if (principal.workspaceId !== null) return yield* boundToWorkspace
              const account = yield* findById(db, principal.accountId)
              if (account === undefined) return yield* notFound()
              const password = Redacted.make(input.new_password)
              yield* PasswordRules.check(password, account.email, "new_password")
              const isRight = passwords.verify(account.password_hash, Redacted.make(input.current_password))
              yield* guesses.attempt(
                { email: account.email, clientAddress },
                Effect.map(isRight, (right) => right || undefined),
                wrongPassword
              )
              const hash = yield* passwords.hash(password)
              return Effect.gen(function* () {
                yield* replace(account, hash)
                return { status: "changed" as const, sessions_revoked: yield* logins.endAll(account.id, principal.via) }
              })
            })
          ),
        reset: ({ email, new_password = "", token = "" }) =>
          email === undefined
            ? journal.prepared("PasswordChanges.reset", useLink(Redacted.make(token), Redacted.make(new_password)))
            : journal.command("PasswordChanges.reset", requestLink(email))
      })
    })
  )
}

const resetLimit: Throttle.Limit = { kind: "reset mail", max: 3, windowMs: 60 * 60 * 1000 }

const wrongPassword = new ReinsError({ code: "invalid_credentials", message: "The current password is wrong." })

const changedMeanwhile = new ReinsError({
  code: "version_conflict",
  message:
    "The password was changed by somebody else at the same time. Nothing was done; try again with the one in force."
})

const boundToWorkspace = new ReinsError({
  code: "forbidden",
  message: "These credentials are for one workspace. Change the password after logging in."
})

const tokenExpired = new ReinsError({
  code: "token_expired",
  message: "This token was used, has expired or never existed. Send your e-mail to this endpoint to get a new link."
})
