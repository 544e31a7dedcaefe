import { clientNetwork } from "@reins/base/base/ClientNetwork"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { AccountId, newId } from "@reins/base/domain/Ids"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { Vault } from "@reins/base/secrets/Vault"
import { Effect, type Redacted, Schema } from "effect"
import { JobStore } from "../jobs/JobStore.js"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import { Journal } from "../store/Journal.js"
import { EmailAddress } from "./Account.js"
import { type AccountRow, AccountStore, normaliseEmail } from "./AccountStore.js"
import { mailTo } from "./MailJob.js"
import * as OneTimeTokens from "./OneTimeTokens.js"
import * as PasswordRules from "./PasswordRules.js"
import { isSetupCode, setupCodeOf } from "./SetupCode.js"
import * as Throttle from "./Throttle.js"
import { WorkspaceStore } from "./WorkspaceStore.js"

/** The answer to a registration or a verification. */
export interface Registration<Status extends string> {
  /** `accepted` tells nothing of the address. `verified` says that the account is active now. */
  readonly status: Status
}

/** Counts the registrations of clients, before anything is done for them. */
export const registrationLimit = Effect.gen(function* () {
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
export const makeVerification = Effect.gen(function* () {
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
    /** The address as it is kept. Fails for an address or a password that cannot be taken. */
    check: Effect.fnUntraced(function* (given: string, password: Redacted.Redacted | null) {
      const email = yield* Schema.decode(EmailAddress)(normaliseEmail(given)).pipe(
        Effect.mapError(({ issue }) => new RequestInvalid({ loc: ["body", "email"], issue, input: given }))
      )
      if (password !== null) yield* PasswordRules.requireGoodPassword(password, email)
      return email
    }),
    /** As `Accounts.setupCode`. */
    setupCode: Effect.map(store.anyVerified, (any) => (any ? null : setupCodeOf(vault))),
    /** Deletes the one-time tokens that can no longer be used. */
    purge: OneTimeTokens.purge(db),
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
