import { randomBytes } from "node:crypto"
import { Context, Effect, Layer, Redacted, Schema } from "effect"
import type { Unseen } from "../access/Access.js"
import { clientNetwork } from "../base/ClientNetwork.js"
import { CoreConfig } from "../base/CoreConfig.js"
import { fn } from "../base/Traced.js"
import { AccountId, newId } from "../domain/Ids.js"
import type { Page, PageRequest } from "../domain/Page.js"
import { isAccount, operator, type Principal, stranger } from "../domain/Principal.js"
import { notFound, ReinsError } from "../domain/ReinsError.js"
import { RequestInvalid } from "../domain/RequestInvalid.js"
import { JobStore } from "../jobs/JobStore.js"
import { Vault } from "../secrets/Vault.js"
import type { Command } from "../store/Command.js"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import { Journal } from "../store/Journal.js"
import { type Account, EmailAddress } from "./Account.js"
import { type AccountRow, AccountStore, normaliseEmail, toAccount } from "./AccountStore.js"
import type { EmailVerificationInput, Me, RegisterInput } from "./AccountsApi.js"
import { csrfTokenOf } from "./LoginSessions.js"
import { mailTo } from "./MailJob.js"
import * as OneTimeTokens from "./OneTimeTokens.js"
import * as PasswordRules from "./PasswordRules.js"
import { Passwords, type PasswordsBusy } from "./Passwords.js"
import { isSetupCode, setupCodeOf } from "./SetupCode.js"
import * as Throttle from "./Throttle.js"
import { WorkspaceStore } from "./WorkspaceStore.js"

/** An account that the operator wants. */
export interface NewAccount {
  /** The address that the account logs in with. It is kept in lower case. */
  readonly email: string
  /** At least 8 characters. A common one, and one that is like the address, is refused. Null for an account that nobody logs in to. */
  readonly password: Redacted.Redacted | null
  /** As people read it; none when null or absent. */
  readonly displayName?: string | null
}

/** The answer to a registration or a verification. */
export interface Registration<Status extends string> {
  /** `accepted` tells nothing of the address. `verified` says that the account is active now. */
  readonly status: Status
}

/** The accounts that may log in. Each has a personal workspace once it is active. */
export class Accounts extends Context.Tag("@reins/core/identity/Accounts")<
  Accounts,
  {
    /**
     * Makes an unverified account and mails a link that verifies it. Only the owner of the address learns by mail that it is taken:
     * the answer, the work and the time are the same. Registering an unverified address again replaces its password and its links. Fails
     * with `RequestInvalid` for an address or a password that cannot be taken, with `rate_limited` when the client has registered too often
     * within an hour, and with `waiting_capacity` while too many passwords wait to be hashed. With a setup code it makes an active account with
     * its workspace and mails nothing; that fails with `token_expired` for another code, and once an account was verified.
     */
    readonly register: (
      input: typeof RegisterInput.Type,
      client: { readonly clientAddress: string }
    ) => Command<
      Registration<"accepted" | "verified">,
      PasswordsBusy | ReinsError<"rate_limited" | "token_expired"> | RequestInvalid
    >
    /**
     * A token activates its account together with its workspace, once. A used, expired or unknown one fails with `token_expired`.
     * An address gets a new link by mail if it waits for one, and the same answer if not. At most 3 mails go to an address within an
     * hour.
     */
    readonly verifyEmail: (
      input: typeof EmailVerificationInput.Type
    ) => Command<Registration<"accepted" | "verified">, ReinsError<"token_expired">>
    /**
     * The account of the principal, the workspaces that its credentials are good for, and the kind and scopes of these credentials. Fails
     * with `not_found` for an account that is not there, and for a turn or an automation, which have no credentials.
     */
    readonly me: (principal: Principal) => Effect.Effect<Me, Unseen>
    /**
     * Makes an active account with its workspace on behalf of the operator, and mails nothing. Fails with `already_exists` for an address that
     * has an account, and otherwise as `register` does.
     */
    readonly createVerified: (
      account: NewAccount
    ) => Command<Account, PasswordsBusy | ReinsError<"already_exists"> | RequestInvalid>
    /**
     * Ends an account for good: its logins and keys are refused from the next request on. Fails with `not_found`, and with
     * `invalid_transition` for an account that is disabled already.
     */
    readonly disable: (accountId: AccountId) => Command<Account, ReinsError<"not_found" | "invalid_transition">>
    /** The account of an id or of an address, on behalf of the operator: it asks for no principal. Fails with `not_found`. */
    readonly get: (idOrEmail: string) => Effect.Effect<Account, Unseen>
    /** The accounts of the installation, newest first, on behalf of the operator. */
    readonly list: (page: PageRequest) => Effect.Effect<Page<Account>, ReinsError<"invalid_cursor">>
    /** The code with which whoever runs the installation makes its first account. Null once an account was verified. */
    readonly setupCode: Effect.Effect<string | null>
    /** Deletes the one-time tokens that can no longer be used. The statement is a commit of its own. */
    readonly purge: Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.effect(
    Accounts,
    Effect.gen(function* () {
      const db = yield* Database
      const journal = yield* Journal
      const passwords = yield* Passwords
      const store = yield* AccountStore
      const vault = yield* Vault
      const workspaces = yield* WorkspaceStore
      const verification = yield* makeVerification

      const checkStranger = yield* registrationLimit

      const check = Effect.fnUntraced(function* (given: string, password: Redacted.Redacted | null) {
        const email = yield* Schema.decode(EmailAddress)(normaliseEmail(given)).pipe(
          Effect.mapError(({ issue }) => new RequestInvalid({ loc: ["body", "email"], issue, input: given }))
        )
        if (password !== null) yield* PasswordRules.requireGoodPassword(password, email)
        return email
      })

      return Accounts.of({
        register: (input, { clientAddress }) =>
          journal.prepared(
            "Accounts.register",
            { by: stranger, about: { type: "account", id: null } },
            Effect.gen(function* () {
              const password = Redacted.make(input.password)
              const email = yield* check(input.email, password)
              yield* checkStranger(clientAddress)
              const password_hash = yield* passwords.hashOfStranger(password)
              const values = { email, password_hash, display_name: input.display_name ?? null }
              return verification.begin(values, input.setup_code)
            })
          ),
        verifyEmail: ({ email, token = "" }) =>
          journal.command(
            "Accounts.verifyEmail",
            { by: stranger, about: { type: "account", id: null } },
            email === undefined ? verification.verify(Redacted.make(token)) : verification.resend(email)
          ),
        me: fn("Accounts.me")(function* (principal) {
          if (!isAccount(principal)) return yield* notFound()
          const account = yield* store.find(principal.accountId)
          if (account === undefined) return yield* notFound()
          const all = yield* workspaces.allOf(principal.accountId)
          const { via, workspaceId } = principal
          return {
            account: toAccount(account),
            workspaces: all.filter(({ id }) => workspaceId === null || id === workspaceId),
            auth: { via: via.kind, scopes: principal.scopes, ...(via.kind === "api_key" && { key_id: via.keyId }) },
            ...(via.kind === "login" && { csrf_token: csrfTokenOf(vault, via.loginId) })
          }
        }),
        createVerified: ({ displayName = null, email, password }) =>
          journal.prepared(
            "Accounts.createVerified",
            { by: operator, about: { type: "account", id: null } },
            Effect.gen(function* () {
              const address = yield* check(email, password)
              const password_hash = yield* passwords.hash(password ?? thrownAway())
              return Effect.gen(function* () {
                const values = { email: address, password_hash, display_name: displayName }
                const row = yield* store.insert({ ...values, state: "active" })
                if (row === undefined) return yield* alreadyExists
                yield* workspaces.addPersonal(row.id)
                return toAccount(row)
              })
            })
          ),
        disable: (accountId) =>
          journal.command(
            "Accounts.disable",
            { by: operator, about: { type: "account", id: accountId } },
            Effect.map(store.disable(accountId), toAccount)
          ),
        get: fn("Accounts.get")(function* (idOrEmail) {
          const account = yield* idOrEmail.includes("@")
            ? store.findByEmail(normaliseEmail(idOrEmail))
            : store.find(idOrEmail)
          return account === undefined ? yield* notFound() : toAccount(account)
        }),
        list: store.list,
        setupCode: Effect.map(store.anyVerified, (any) => (any ? null : setupCodeOf(vault))),
        purge: OneTimeTokens.purge(db)
      })
    })
  )
}

/** The password of an account that nobody logs in to. Nobody has to look whether it is guessed first. */
const thrownAway = (): Redacted.Redacted => Redacted.make(randomBytes(32).toString("base64url"))

/** Counts the registrations of clients, before anything is done for them. */
const registrationLimit = Effect.gen(function* () {
  const { limits } = yield* CoreConfig
  const journal = yield* Journal
  const throttle = yield* Throttle.make

  return Effect.fnUntraced(function* (clientAddress: string) {
    if (limits.registrationsPerHour === null) return
    const limit = { kind: "registration", max: limits.registrationsPerHour, windowMs: 60 * 60 * 1000 }
    const client = clientNetwork(clientAddress)
    // Most refusals need no commit.
    const isFree = Effect.flatMap(throttle.retryAfterSeconds(limit, client), (seconds) =>
      seconds === undefined ? journal.commit(throttle.take(limit, client)) : Effect.succeed(false)
    )
    if (yield* isFree) return
    const seconds = (yield* throttle.retryAfterSeconds(limit, client)) ?? 1
    const message = `${limit.max} accounts were registered from your address within an hour. Wait ${seconds} seconds.`
    return yield* Throttle.rateLimited("registration", limit, seconds, message)
  })
})

type NewValues = Pick<AccountRow, "email" | "display_name" | "password_hash">

/** The steps from an unverified account to an active one. Each is part of a commit. */
const makeVerification = Effect.gen(function* () {
  const db = yield* Database
  const jobs = yield* JobStore
  const store = yield* AccountStore
  const throttle = yield* Throttle.make
  const vault = yield* Vault
  const workspaces = yield* WorkspaceStore

  const registerAgain = Effect.fnUntraced(function* (
    { id }: AccountRow,
    values: Pick<AccountRow, "display_name" | "password_hash">
  ) {
    yield* store.registerAgain(id, values)
    // A link that was mailed for another password must not bring this one into force.
    yield* OneTimeTokens.voidAll(db, "verify_email", id)
    yield* jobs.enqueue(mailTo(id, "verify_email"))
  })

  const register = Effect.fnUntraced(function* (values: NewValues) {
    const created = yield* store.insert({ ...values, state: "unverified" })
    const account = created ?? (yield* store.lockByEmail(values.email))
    const mayMail = yield* throttle.take(Throttle.mailLimit, values.email)
    if (created !== undefined) yield* jobs.enqueue(mailTo(created.id, "verify_email"))
    else if (mayMail && account?.state === "unverified")
      yield* registerAgain(account, { display_name: values.display_name, password_hash: values.password_hash })
    else if (mayMail && account?.state === "active") yield* jobs.enqueue(mailTo(account.id, "already_registered"))
    return accepted
  })

  /** Makes the first account of the installation. One that a stranger has begun with the same address gives way. */
  const registerFirst = Effect.fnUntraced(function* (values: NewValues, code: string) {
    if (!isSetupCode(vault, code) || (yield* store.anyVerified)) return yield* setupCodeRefused
    const begun = yield* store.lockByEmail(values.email)
    if (begun !== undefined) {
      yield* store.registerAgain(begun.id, values)
      yield* OneTimeTokens.voidAll(db, "verify_email", begun.id)
    }
    const account = begun ?? (yield* store.insert({ ...values, state: "unverified" }))
    const active = account && (yield* store.activate(account.id))
    if (active === undefined) return yield* setupCodeRefused
    yield* workspaces.addPersonal(active.id)
    return { status: "verified" as const }
  })

  return {
    /** Registers an account with a mail, or with a setup code without one. */
    begin: (
      values: NewValues,
      setupCode: string | undefined
    ): Effect.Effect<Registration<"accepted" | "verified">, ReinsError<"token_expired">, Commit> =>
      setupCode === undefined ? register(values) : registerFirst(values, setupCode),
    /** Sends a new link to an address. */
    resend: Effect.fnUntraced(function* (given: string) {
      const email = normaliseEmail(given)
      const account = yield* store.lockByEmail(email)
      if (yield* throttle.take(Throttle.mailLimit, email)) {
        // The job of an account that does not exist sends nothing and takes as long, so that no answer tells who has an account.
        const accountId = account?.state === "unverified" ? account.id : yield* newId(AccountId)
        yield* jobs.enqueue(mailTo(accountId, "verify_email"))
      }
      return accepted
    }),
    verify: Effect.fnUntraced(function* (
      token: Redacted.Redacted
    ): Effect.fn.Return<Registration<"accepted" | "verified">, ReinsError<"token_expired">, Commit> {
      const accountId = yield* OneTimeTokens.use(db, "verify_email", token)
      if (accountId === undefined) return yield* tokenExpired
      const account = yield* store.activate(accountId)
      if (account === undefined) return yield* tokenExpired
      yield* workspaces.addPersonal(account.id)
      yield* OneTimeTokens.voidAll(db, "verify_email", account.id)
      return { status: "verified" as const }
    })
  }
})

const accepted = { status: "accepted" } as const

const tokenExpired = new ReinsError({
  code: "token_expired",
  message:
    "This token was used, has expired or never existed. If your address is verified, log in; else send your e-mail to this endpoint to get a new link."
})

const setupCodeRefused = new ReinsError({
  code: "token_expired",
  message:
    "The setup code is not that of this server, or its first account was made already. `reins accounts first` on the machine of the server says more. Without a code you get a mail with a link."
})

const alreadyExists = new ReinsError({ code: "already_exists", message: "An account with this e-mail address exists." })
