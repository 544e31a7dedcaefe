import { randomBytes } from "node:crypto"
import { fn } from "@reins/base/base/Traced"
import type { AccountId } from "@reins/base/domain/Ids"
import type { Page, PageRequest } from "@reins/base/domain/Page"
import { operator, type Principal, stranger } from "@reins/base/domain/Principal"
import { notFound, ReinsError } from "@reins/base/domain/ReinsError"
import type { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { Context, Effect, Layer, Redacted } from "effect"
import type { Denied, Unseen } from "../access/Access.js"
import type { Command } from "../store/Command.js"
import { Journal } from "../store/Journal.js"
import type { Account } from "./Account.js"
import { AccountStore, normaliseEmail, toAccount } from "./AccountStore.js"
import type { EmailVerificationInput, Me, MeInput, RegisterInput } from "./AccountsApi.js"
import { makeMe, makeUpdateMe } from "./OwnAccount.js"
import { Passwords, type PasswordsBusy } from "./Passwords.js"
import { makeVerification, type Registration, registrationLimit } from "./Verification.js"
import { WorkspaceStore } from "./WorkspaceStore.js"

export type { Registration } from "./Verification.js"

/** An account that the operator wants. */
export interface NewAccount {
  /** The address that the account logs in with. It is kept in lower case. */
  readonly email: string
  /** At least 8 characters. A common one, and one that is like the address, is refused. Null for an account that nobody logs in to. */
  readonly password: Redacted.Redacted | null
  /** As people read it; none when null or absent. */
  readonly displayName?: string | null
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
     * Sets the author of the commits of the calling account, or takes it back. Fails with `RequestInvalid` for an address that the account has not
     * proved. Fails with `forbidden` for credentials of one workspace, because the author shows in all of them.
     */
    readonly updateMe: (principal: Principal, input: MeInput) => Command<Me, Denied | RequestInvalid>
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
      const journal = yield* Journal
      const passwords = yield* Passwords
      const store = yield* AccountStore
      const workspaces = yield* WorkspaceStore
      const verification = yield* makeVerification

      const checkStranger = yield* registrationLimit

      const me = yield* makeMe
      const updateMe = yield* makeUpdateMe(me)

      return Accounts.of({
        register: (input, { clientAddress }) =>
          journal.prepared(
            "Accounts.register",
            { by: stranger, about: { type: "account", id: null } },
            Effect.gen(function* () {
              const password = Redacted.make(input.password)
              const email = yield* verification.check(input.email, password)
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
        me,
        updateMe: (principal, { git }) =>
          journal.command(
            "Accounts.updateMe",
            { by: principal, about: { type: "account", id: principal.accountId } },
            updateMe(principal, git)
          ),
        createVerified: ({ displayName = null, email, password }) =>
          journal.prepared(
            "Accounts.createVerified",
            { by: operator, about: { type: "account", id: null } },
            Effect.gen(function* () {
              const address = yield* verification.check(email, password)
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
        setupCode: verification.setupCode,
        purge: verification.purge
      })
    })
  )
}

/** The password of an account that nobody logs in to. Nobody has to look whether it is guessed first. */
const thrownAway = (): Redacted.Redacted => Redacted.make(randomBytes(32).toString("base64url"))

const alreadyExists = new ReinsError({ code: "already_exists", message: "An account with this e-mail address exists." })
