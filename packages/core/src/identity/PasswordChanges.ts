import { AccountId, newId } from "@reins/base/domain/Ids"
import { type Principal, stranger } from "@reins/base/domain/Principal"
import { notFound, ReinsError } from "@reins/base/domain/ReinsError"
import type { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { Context, Effect, Layer, Redacted } from "effect"
import { Access, type ScopeMissing, type Unseen } from "../access/Access.js"
import { JobStore } from "../jobs/JobStore.js"
import type { Command } from "../store/Command.js"
import { Database } from "../store/Database.js"
import { Journal } from "../store/Journal.js"
import { type AccountRow, AccountStore, normaliseEmail } from "./AccountStore.js"
import type { PasswordChange, PasswordChangeInput, PasswordResetInput } from "./AccountsApi.js"
import { ApiKeyStore } from "./ApiKeyStore.js"
import { LoginStore } from "./LoginStore.js"
import { mailTo } from "./MailJob.js"
import * as OneTimeTokens from "./OneTimeTokens.js"
import * as PasswordGuesses from "./PasswordGuesses.js"
import * as PasswordRules from "./PasswordRules.js"
import { Passwords, type PasswordsBusy } from "./Passwords.js"
import * as Throttle from "./Throttle.js"

/** The reasons for which a password is not changed. */
export type ChangeRefused =
  | ScopeMissing
  | Unseen
  | PasswordsBusy
  | ReinsError<"forbidden" | "invalid_credentials" | "rate_limited" | "version_conflict">
  | RequestInvalid

/** The reasons for which a password is not set by a link. */
export type ResetRefused = PasswordsBusy | ReinsError<"token_expired" | "version_conflict"> | RequestInvalid

/**
 * Replaces the passwords of accounts. The old password opens nothing afterwards: the logins of the account end, its links stop working,
 * its apps lose their access, and its owner is told by mail. API keys stay good.
 */
export class PasswordChanges extends Context.Tag("@reins/core/identity/PasswordChanges")<
  PasswordChanges,
  {
    /**
     * Needs the current password, whose failures count like those of logins. A wrong one fails with `invalid_credentials`. The login
     * that the caller came by stays, every other one of the account ends. Credentials for one workspace are `forbidden`.
     */
    readonly change: (
      principal: Principal,
      input: typeof PasswordChangeInput.Type,
      client: { readonly clientAddress: string }
    ) => Command<typeof PasswordChange.Type, ChangeRefused>
    /**
     * An address gets a link by mail if it has an account, and the same answer if not. At most 3 such mails go to it within an hour.
     * A token from a link sets the password once and ends every login. A used, expired or unknown one fails with `token_expired`. Failures of
     * strangers stop no login from the client that has set the password.
     */
    readonly reset: (
      input: typeof PasswordResetInput.Type,
      client: { readonly clientAddress: string }
    ) => Command<{ readonly status: "accepted" | "reset" }, ResetRefused>
  }
>() {
  static readonly layer = Layer.effect(
    PasswordChanges,
    Effect.gen(function* () {
      const access = yield* Access
      const accounts = yield* AccountStore
      const journal = yield* Journal
      const logins = yield* LoginStore
      const passwords = yield* Passwords
      const guesses = yield* PasswordGuesses.make
      const { replace, requestLink, useLink } = yield* makeSteps

      return PasswordChanges.of({
        change: (principal, input, { clientAddress }) =>
          journal.prepared(
            "PasswordChanges.change",
            { by: principal, about: { type: "account", id: principal.accountId } },
            Effect.gen(function* () {
              yield* access.requireScope(principal, "admin")
              if (principal.workspaceId !== null) return yield* boundToWorkspace
              const account = yield* accounts.find(principal.accountId)
              if (account === undefined) return yield* notFound()
              const password = Redacted.make(input.new_password)
              yield* PasswordRules.requireGoodPassword(password, account.email, "new_password")
              const isRight = passwords.verify(account.password_hash, Redacted.make(input.current_password))
              yield* guesses.attempt(
                { email: account.email, clientAddress },
                Effect.map(isRight, (right) => right || undefined),
                wrongPassword
              )
              const hash = yield* passwords.hash(password)
              return Effect.gen(function* () {
                yield* replace(account, hash, clientAddress)
                return { status: "changed" as const, sessions_revoked: yield* logins.endAll(account.id, principal.via) }
              })
            })
          ),
        reset: ({ email, new_password = "", token = "" }, { clientAddress }) =>
          email === undefined
            ? journal.prepared(
                "PasswordChanges.reset",
                { by: stranger, about: { type: "account", id: null } },
                useLink(Redacted.make(token), Redacted.make(new_password), clientAddress)
              )
            : journal.command(
                "PasswordChanges.reset",
                { by: stranger, about: { type: "account", id: null } },
                requestLink(email)
              )
      })
    })
  )
}

const makeSteps = Effect.gen(function* () {
  const db = yield* Database
  const accounts = yield* AccountStore
  const apiKeys = yield* ApiKeyStore
  const jobs = yield* JobStore
  const logins = yield* LoginStore
  const passwords = yield* Passwords
  const guesses = yield* PasswordGuesses.make
  const throttle = yield* Throttle.make

  /** Replaces the hash that was read. The links and failures of the old password end with it; its logins are the caller's to end. */
  const replace = Effect.fnUntraced(function* (account: AccountRow, hash: string, clientAddress: string) {
    if (!(yield* accounts.replaceHash(account, hash))) return yield* changedMeanwhile
    yield* OneTimeTokens.voidAll(db, "reset_password", account.id)
    yield* apiKeys.revokeApps(account.id)
    yield* guesses.replaced({ accountId: account.id, email: account.email, clientAddress })
    yield* jobs.enqueue(mailTo(account.id, "password_changed"))
  })

  return {
    replace,
    requestLink: Effect.fnUntraced(function* (given: string) {
      const email = normaliseEmail(given)
      const account = yield* accounts.lockByEmail(email)
      if (yield* throttle.take(resetLimit, email)) {
        // The job of an account that does not exist sends nothing and takes as long, so that no answer tells who has an account.
        const accountId = account?.id ?? (yield* newId(AccountId))
        // The owner of an unverified address has to verify it first, and gets the link for that.
        yield* jobs.enqueue(mailTo(accountId, account?.state === "unverified" ? "verify_email" : "reset_password"))
      }
      return { status: "accepted" as const }
    }),
    /** Prepares the commit that sets the password. */
    useLink: Effect.fnUntraced(function* (
      token: Redacted.Redacted,
      password: Redacted.Redacted,
      clientAddress: string
    ) {
      const accountId = yield* OneTimeTokens.tokenSubject(db, "reset_password", token)
      const account = accountId === undefined ? undefined : yield* accounts.find(accountId)
      if (account?.state !== "active") return yield* tokenExpired
      // A password that is refused here leaves the token good for another one.
      yield* PasswordRules.requireGoodPassword(password, account.email, "new_password")
      const hash = yield* passwords.hash(password)
      return Effect.gen(function* () {
        if ((yield* OneTimeTokens.use(db, "reset_password", token)) === undefined) return yield* tokenExpired
        yield* replace(account, hash, clientAddress)
        yield* logins.endAll(account.id)
        return { status: "reset" as const }
      })
    })
  }
})

const resetLimit: Throttle.ThrottleLimit = { kind: "reset mail", max: 3, windowMs: 60 * 60 * 1000 }

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
