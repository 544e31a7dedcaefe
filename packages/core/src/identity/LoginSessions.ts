import { randomUUID } from "node:crypto"
import { fn } from "@reins/base/base/Traced"
import { type AccountPrincipal, type Principal, stranger } from "@reins/base/domain/Principal"
import { catchCode, ReinsError } from "@reins/base/domain/ReinsError"
import { fromNow, now, type Timestamp } from "@reins/base/domain/Timestamp"
import * as Token from "@reins/base/secrets/Token"
import { Vault } from "@reins/base/secrets/Vault"
import { Context, Data, Effect, Layer, Redacted } from "effect"
import { installationId } from "../store/Agreements.js"
import type { Command } from "../store/Command.js"
import { Database } from "../store/Database.js"
import { defectFields } from "../store/FailedStatement.js"
import { Journal } from "../store/Journal.js"
import { type AccountRow, AccountStore, normaliseEmail, toAccount } from "./AccountStore.js"
import type { Login, LoginInput } from "./AccountsApi.js"
import { absoluteMs, LoginStore } from "./LoginStore.js"
import * as PasswordGuesses from "./PasswordGuesses.js"
import { Passwords } from "./Passwords.js"

/** A new login, with what the browser is given. */
export interface LoggedIn {
  readonly login: Login
  /** The content of the cookie. It is stored as a hash and cannot be read again. */
  readonly token: Redacted.Redacted
  /** The token that the browser has to send with each change. */
  readonly csrfToken: string
  readonly expiresAt: Timestamp
}

/** The reasons for which a login fails. */
export type LoginRefused = ReinsError<"invalid_credentials" | "email_unverified" | "rate_limited" | "waiting_capacity">

/** Logs people in with their passwords, and recognises their browsers afterwards. */
export class LoginSessions extends Context.Tag("@reins/core/identity/LoginSessions")<
  LoginSessions,
  {
    /**
     * A new login with a new token. A wrong password, an unknown address and a disabled account fail with the same
     * `invalid_credentials` after the same work. `email_unverified` is told only to a caller that knows the password. After 10 failures
     * of a client on an address, or 50 of a client, within 15 minutes everything from it fails with `rate_limited`. So does everything on an
     * address after 40 failures of strangers within an hour, except from clients that have logged in there before.
     */
    readonly login: (
      input: typeof LoginInput.Type,
      client: { readonly clientAddress: string }
    ) => Effect.Effect<LoggedIn, LoginRefused>
    /** The principal that holds the token. Undefined when the login no longer lasts or never existed, or its account is not active. */
    readonly authenticate: (token: Redacted.Redacted) => Effect.Effect<AccountPrincipal | undefined>
    /** Ends the login that the principal came by. It does nothing for other credentials. */
    readonly logout: (principal: Principal) => Command<void>
    /** True when the token was given to the login of this principal. False for other credentials. */
    readonly verifyCsrf: (principal: Principal, csrfToken: string) => boolean
    /** An id that no other installation has, to name the cookies of logins by. */
    readonly installation: Effect.Effect<string>
    /** Deletes the logins and failures that no longer count. Each statement is a commit of its own. */
    readonly purge: Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.effect(
    LoginSessions,
    Effect.gen(function* () {
      const journal = yield* Journal
      const logins = yield* LoginStore
      const vault = yield* Vault
      const installation = installationId(yield* Database)
      const guesses = yield* PasswordGuesses.make
      const { checkPassword, open, renewHash } = yield* makeSteps

      return LoginSessions.of({
        installation,
        login: fn("LoginSessions.login")(function* (input, { clientAddress }) {
          const email = normaliseEmail(input.email)
          const password = Redacted.make(input.password)
          const check = guesses.attempt({ email, clientAddress }, checkPassword(email, password), invalidCredentials)
          return yield* Effect.gen(function* () {
            const account = yield* check
            if (account.state === "unverified") return yield* emailUnverified
            // A server that is too busy for another hash renews it at a later login.
            const renewed = yield* catchCode("waiting_capacity", () => Effect.succeed(account))(
              renewHash(account, password)
            )
            return yield* journal.command(
              "LoginSessions.open",
              { by: stranger, about: { type: "account", id: renewed.id } },
              open(renewed, clientAddress)
            )
          }).pipe(
            Effect.retry({ while: (error) => error._tag === "PasswordReplaced", times: 3 }),
            Effect.catchTag("PasswordReplaced", () => Effect.fail(invalidCredentials))
          )
        }),
        authenticate: fn("LoginSessions.authenticate")(function* (token) {
          const login = yield* logins.findLasting(Token.digest(token))
          if (login === undefined) return undefined
          // Reading goes on while nothing can be written.
          yield* Effect.catchAllDefect(logins.noteUse(login), (defect) =>
            Effect.annotateLogs(Effect.logWarning("the last use of a login was not written"), defectFields(defect))
          )
          return {
            accountId: login.account_id,
            scopes: ["admin"],
            workspaceId: null,
            via: { kind: "login", loginId: login.id }
          }
        }),
        logout: (principal) => {
          const { via } = principal
          return journal.command(
            "LoginSessions.logout",
            {
              by: principal,
              about: { type: "login", id: via.kind === "login" ? via.loginId : null },
              refusable: false
            },
            via.kind === "login" ? logins.end(via.loginId) : Effect.void
          )
        },
        verifyCsrf: ({ via }, csrfToken) =>
          via.kind === "login" && vault.verifyMac(csrfPurpose, via.loginId, csrfToken),
        purge: Effect.zipRight(logins.purge, guesses.purge)
      })
    })
  )
}

/** The steps of a login. */
const makeSteps = Effect.gen(function* () {
  const accounts = yield* AccountStore
  const journal = yield* Journal
  const logins = yield* LoginStore
  const passwords = yield* Passwords
  const vault = yield* Vault
  const guesses = yield* PasswordGuesses.make

  /** The account, if the password is right and the account may be used. Every outcome takes the time of one hash. */
  const checkPassword = Effect.fnUntraced(function* (email: string, password: Redacted.Redacted) {
    const account = yield* accounts.findByEmail(email)
    if (account === undefined) {
      yield* passwords.dummyVerify(password)
      return undefined
    }
    const right = yield* passwords.verify(account.password_hash, password)
    return right && account.state !== "disabled" ? account : undefined
  })

  /** Replaces a hash that was made at another cost than new ones are. Gives back the account with its present hash. */
  const renewHash = Effect.fnUntraced(function* (account: AccountRow, password: Redacted.Redacted) {
    if (!passwords.needsRehash(account.password_hash)) return account
    const hash = yield* passwords.hash(password)
    yield* journal.commit(accounts.replaceHash(account, hash))
    return { ...account, password_hash: hash }
  })

  /** Begins a login. It fails when the password that was checked was replaced, because no login may outlive its password. */
  const open = Effect.fnUntraced(function* (account: AccountRow, clientAddress: string) {
    if (!(yield* accounts.holdHash(account))) return yield* new PasswordReplaced()
    const at = yield* now
    const token = yield* Token.random
    const expiresAt = yield* fromNow(absoluteMs)
    const id = randomUUID()
    yield* guesses.proved({ accountId: account.id, email: account.email, clientAddress })
    yield* logins.insert({
      id,
      hash: Token.digest(token),
      account_id: account.id,
      created_at: at,
      last_seen_at: at,
      expires_at: expiresAt
    })
    const csrfToken = csrfTokenOf(vault, id)
    const login: Login = { account: toAccount(account), csrf_token: csrfToken, expires_at: expiresAt }
    return { login, token, csrfToken, expiresAt }
  })

  return { checkPassword, renewHash, open }
})

const csrfPurpose = "csrf"

/** The token that a browser must send besides its cookie. It stays the same while the login lasts. */
export const csrfTokenOf = (vault: Vault["Type"], loginId: string): string => vault.mac(csrfPurpose, loginId)

/** The password was replaced between its check and the login. */
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
