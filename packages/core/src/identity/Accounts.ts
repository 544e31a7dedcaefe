import { Context, Effect, Layer, Redacted, Schema } from "effect"
import type { EmailVerificationInput, Me, RegisterInput } from "../api/AccountsApi.js"
import { fn } from "../base/Traced.js"
import { type Account, accountStates, EmailAddress, type Role } from "../domain/Account.js"
import { AccountId, newId, WorkspaceId } from "../domain/Ids.js"
import type { Page, PageRequest } from "../domain/Page.js"
import type { Principal } from "../domain/Principal.js"
import { notFound, ReinsError } from "../domain/ReinsError.js"
import { RequestInvalid } from "../domain/RequestInvalid.js"
import { now } from "../domain/Timestamp.js"
import { JobStore } from "../jobs/JobStore.js"
import { Vault } from "../secrets/Vault.js"
import type { Command } from "../store/Command.js"
import { Database } from "../store/Database.js"
import { Journal } from "../store/Journal.js"
import * as Keyset from "../store/Keyset.js"
import { type AccountRow, findByEmail, findById, lockByEmail, normaliseEmail, toAccount } from "./AccountRow.js"
import { csrfTokenOf } from "./LoginSessions.js"
import { mailTo } from "./MailJob.js"
import * as OneTimeTokens from "./OneTimeTokens.js"
import * as PasswordRules from "./PasswordRules.js"
import { Passwords } from "./Passwords.js"
import * as Throttle from "./Throttle.js"

export interface NewAccount {
  readonly email: string
  readonly password: Redacted.Redacted
  readonly displayName?: string | null
}

/** Who may log in, and the personal workspace that everybody has. */
export class Accounts extends Context.Tag("@reins/core/identity/Accounts")<
  Accounts,
  {
    /**
     * Makes an unverified account and mails a link that verifies it. Whether the address is taken is told to its owner alone: the
     * answer, the work and the time are the same. Registering an unverified address again replaces its password and its links.
     */
    readonly register: (
      input: typeof RegisterInput.Type
    ) => Command<{ readonly status: "accepted" }, ReinsError | RequestInvalid>
    /**
     * A token activates its account together with its workspace, once; a used, expired or unknown one fails with `token_expired`.
     * An address has a new link sent if it waits for one, and is answered the same if not. At most 3 mails go to an address in an
     * hour.
     */
    readonly verifyEmail: (
      input: typeof EmailVerificationInput.Type
    ) => Command<{ readonly status: "accepted" | "verified" }, ReinsError>
    readonly me: (principal: Principal) => Effect.Effect<Me, ReinsError>
    /** An active account with its workspace, made by the operator. Fails with `already_exists`. */
    readonly createVerified: (account: NewAccount) => Command<Account, ReinsError | RequestInvalid>
    /** Ends an account for good: its logins and keys stop at once. */
    readonly disable: (accountId: AccountId) => Command<Account, ReinsError>
    /** By id or by address. */
    readonly get: (idOrEmail: string) => Effect.Effect<Account, ReinsError>
    /** Newest first. */
    readonly list: (page: PageRequest) => Effect.Effect<Page<Account>, ReinsError>
    /** Deletes the one-time tokens that can no longer be used. */
    readonly purge: Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.effect(
    Accounts,
    Effect.gen(function* () {
      const db = yield* Database
      const { sql } = db
      const journal = yield* Journal
      const jobs = yield* JobStore
      const passwords = yield* Passwords
      const vault = yield* Vault
      const throttle = yield* Throttle.make

      const prepare = Effect.fnUntraced(function* (given: string, password: Redacted.Redacted) {
        const email = yield* Schema.decode(EmailAddress)(normaliseEmail(given)).pipe(
          Effect.mapError(({ issue }) => new RequestInvalid({ loc: ["body", "email"], issue, input: given }))
        )
        yield* PasswordRules.check(password, email)
        return { email, password_hash: yield* passwords.hash(password) }
      })

      const insert = Effect.fnUntraced(function* (
        values: Pick<AccountRow, "email" | "display_name" | "password_hash" | "state">
      ) {
        const at = yield* now
        const row = { id: yield* newId(AccountId), ...values, created_at: at, updated_at: at }
        return yield* db.first(sql<AccountRow>`insert into accounts ${sql.insert(row)}
          on conflict (email) do nothing returning *`)
      })

      const addWorkspace = Effect.fnUntraced(function* (accountId: AccountId) {
        const id = yield* newId(WorkspaceId)
        const created_at = yield* now
        const workspace = { id, name: "Personal", personal_account_id: accountId, created_at }
        const member = { workspace_id: id, account_id: accountId, role: "owner", created_at }
        yield* db.run(sql`insert into workspaces ${sql.insert(workspace)}`)
        yield* db.run(sql`insert into workspace_members ${sql.insert(member)}`)
      })

      const replaceUnverified = Effect.fnUntraced(function* (
        account: AccountRow,
        values: Pick<AccountRow, "display_name" | "password_hash">
      ) {
        const at = yield* now
        yield* db.run(sql`update accounts set ${sql.update({ ...values, updated_at: at })}
          where id = ${account.id} and state = 'unverified'`)
        // A link that was mailed for another password must not bring this one into force.
        yield* OneTimeTokens.voidAll(db, "verify_email", account.id)
        yield* jobs.enqueue(mailTo(account.id, "verify_email"))
      })

      const resend = Effect.fnUntraced(function* (given: string) {
        const email = normaliseEmail(given)
        const account = yield* lockByEmail(db, email)
        if (yield* throttle.take(Throttle.mailLimit, email)) {
          // A job for nobody does nothing, and costs the time that a mail does: so no answer tells whether there is an account.
          const accountId = account?.state === "unverified" ? account.id : yield* newId(AccountId)
          yield* jobs.enqueue(mailTo(accountId, "verify_email"))
        }
        return accepted
      })

      const verify = Effect.fnUntraced(function* (token: Redacted.Redacted) {
        const accountId = yield* OneTimeTokens.use(db, "verify_email", token)
        if (accountId === undefined) return yield* tokenExpired
        const at = yield* now
        const account = yield* db.first(sql<AccountRow>`update accounts set state = 'active', updated_at = ${at}
          where id = ${accountId} and state = 'unverified' returning *`)
        if (account === undefined) return yield* tokenExpired
        yield* addWorkspace(account.id)
        yield* OneTimeTokens.voidAll(db, "verify_email", account.id)
        return { status: "verified" as const }
      })

      return Accounts.of({
        register: (input) =>
          journal.prepared(
            "Accounts.register",
            Effect.gen(function* () {
              const prepared = yield* prepare(input.email, Redacted.make(input.password))
              const values = { ...prepared, display_name: input.display_name ?? null }
              return Effect.gen(function* () {
                const created = yield* insert({ ...values, state: "unverified" })
                const account = created ?? (yield* lockByEmail(db, values.email))
                const mayMail = yield* throttle.take(Throttle.mailLimit, values.email)
                if (created !== undefined) yield* jobs.enqueue(mailTo(created.id, "verify_email"))
                else if (mayMail && account?.state === "unverified") yield* replaceUnverified(account, values)
                else if (mayMail && account?.state === "active")
                  yield* jobs.enqueue(mailTo(account.id, "already_registered"))
                return accepted
              })
            })
          ),
        verifyEmail: (input) =>
          journal.command<{ readonly status: "accepted" | "verified" }, ReinsError>(
            "Accounts.verifyEmail",
            input.email === undefined ? verify(Redacted.make(input.token ?? "")) : resend(input.email)
          ),
        me: fn("Accounts.me")(function* (principal) {
          const account = yield* findById(db, principal.accountId)
          if (account === undefined) return yield* notFound()
          const rows = yield* db.all(sql<{ id: WorkspaceId; name: string; role: Role }>`
            select workspaces.id, workspaces.name, workspace_members.role from workspace_members
            join workspaces on workspaces.id = workspace_members.workspace_id
            where workspace_members.account_id = ${principal.accountId} order by workspaces.id`)
          const { via, workspaceId } = principal
          return {
            account: toAccount(account),
            workspaces: rows.filter((row) => workspaceId === null || row.id === workspaceId),
            auth: { via: via.kind, scopes: principal.scopes, ...(via.kind === "api_key" && { key_id: via.keyId }) },
            ...(via.kind === "login" && { csrf_token: csrfTokenOf(vault, via.loginId) })
          }
        }),
        createVerified: (input) =>
          journal.prepared(
            "Accounts.createVerified",
            Effect.gen(function* () {
              const prepared = yield* prepare(input.email, input.password)
              return Effect.gen(function* () {
                const row = yield* insert({ ...prepared, display_name: input.displayName ?? null, state: "active" })
                if (row === undefined) return yield* alreadyExists
                yield* addWorkspace(row.id)
                return toAccount(row)
              })
            })
          ),
        disable: (accountId) =>
          journal.command(
            "Accounts.disable",
            Effect.gen(function* () {
              const account = yield* findById(db, accountId)
              if (account === undefined) return yield* notFound()
              yield* accountStates.check(account.state, "disabled")
              const at = yield* now
              yield* db.run(sql`update accounts set state = 'disabled', updated_at = ${at} where id = ${accountId}`)
              return toAccount({ ...account, state: "disabled" })
            })
          ),
        get: fn("Accounts.get")(function* (idOrEmail) {
          const account = yield* idOrEmail.includes("@")
            ? findByEmail(db, normaliseEmail(idOrEmail))
            : findById(db, idOrEmail)
          return account === undefined ? yield* notFound() : toAccount(account)
        }),
        list: fn("Accounts.list")(function* (request) {
          const before = yield* Keyset.decode(request.cursor)
          const limit = Keyset.limitOf(request)
          const rows = yield* db.all(sql<AccountRow>`select * from accounts
            ${before === undefined ? sql.literal("") : sql`where id < ${before}`} order by id desc limit ${limit + 1}`)
          return Keyset.map(
            Keyset.page(rows, limit, (row) => row.id),
            toAccount
          )
        }),
        purge: OneTimeTokens.purge(db)
      })
    })
  )
}

const accepted = { status: "accepted" } as const

const tokenExpired = new ReinsError({
  code: "token_expired",
  message:
    "This token was used, has expired or never existed. If your address is verified, log in; else send your e-mail to this endpoint to get a new link."
})

const alreadyExists = new ReinsError({ code: "already_exists", message: "An account with this e-mail address exists." })
