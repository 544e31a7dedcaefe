import { fn } from "@reins/base/base/Traced"
import type { GitIdentity } from "@reins/base/domain/GitIdentity"
import { AccountId, newId } from "@reins/base/domain/Ids"
import type { Page, PageRequest } from "@reins/base/domain/Page"
import { notFound, type ReinsError } from "@reins/base/domain/ReinsError"
import { now, type Timestamp } from "@reins/base/domain/Timestamp"
import { Context, Effect, Layer } from "effect"
import { type Commit, ringAccess } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import * as Keyset from "../store/Keyset.js"
import { type Account, type AccountState, accountStates } from "./Account.js"

/** An account as it is stored. */
export interface AccountRow {
  readonly id: AccountId
  readonly email: string
  readonly display_name: string | null
  readonly git_name: string | null
  readonly git_email: string | null
  readonly password_hash: string
  readonly state: AccountState
  readonly created_at: Timestamp
}

/** An address as it is stored and compared: trimmed, NFC, lower case. */
export const normaliseEmail = (email: string): string => email.trim().normalize("NFC").toLowerCase()

/** The account as the API shows it. */
export const toAccount = (row: AccountRow): Account => ({
  id: row.id,
  email: row.email,
  display_name: row.display_name,
  state: row.state,
  created_at: row.created_at
})

/** The name and address that the account has set for its commits; null when it has set none. */
export const gitOf = ({ git_email, git_name }: Pick<AccountRow, "git_name" | "git_email">): GitIdentity | null =>
  git_name === null || git_email === null ? null : { name: git_name, email: git_email }

/** The rows of accounts and the moves of their states. Addresses are given as `normaliseEmail` makes them. */
export class AccountStore extends Context.Tag("@reins/core/identity/AccountStore")<
  AccountStore,
  {
    /** Undefined when there is no account of that id. */
    readonly find: (accountId: string) => Effect.Effect<AccountRow | undefined>
    /** Undefined when the address has no account. */
    readonly findByEmail: (email: string) => Effect.Effect<AccountRow | undefined>
    /** `findByEmail`. Other commits cannot change the account until this one ends. */
    readonly lockByEmail: (email: string) => Effect.Effect<AccountRow | undefined, never, Commit>
    /** Sets or removes the name and address of the commits of an account. */
    readonly setGit: (accountId: AccountId, git: GitIdentity | null) => Effect.Effect<void, never, Commit>
    /** The names for commits that the accounts of people and of keys have set, by the id of the actor. Accounts without one are left out. */
    readonly gitsOf: (
      actors: ReadonlyArray<{ readonly kind: string; readonly id: string }>
    ) => Effect.Effect<ReadonlyMap<string, GitIdentity>>
    /** Undefined when the address has an account already. */
    readonly insert: (
      values: Pick<AccountRow, "email" | "display_name" | "password_hash" | "state">
    ) => Effect.Effect<AccountRow | undefined, never, Commit>
    /** Gives an unverified account another name and password. An account in another state stays as it is. */
    readonly registerAgain: (
      accountId: AccountId,
      values: Pick<AccountRow, "display_name" | "password_hash">
    ) => Effect.Effect<void, never, Commit>
    /** Undefined when the account is not unverified. */
    readonly activate: (accountId: string) => Effect.Effect<AccountRow | undefined, never, Commit>
    /** Ends an account. Fails with `invalid_transition` when it has ended already. */
    readonly disable: (
      accountId: AccountId
    ) => Effect.Effect<AccountRow, ReinsError<"not_found" | "invalid_transition">, Commit>
    /** Replaces the hash that was read. False when it was replaced meanwhile, or the account is no longer active. */
    readonly replaceHash: (account: AccountRow, hash: string) => Effect.Effect<boolean, never, Commit>
    /** False when the hash that was read was replaced meanwhile. Other commits cannot replace it until this one ends. */
    readonly holdHash: (account: AccountRow) => Effect.Effect<boolean, never, Commit>
    /** True once an account of the installation has been verified, whatever became of it. */
    readonly anyVerified: Effect.Effect<boolean>
    /** Newest first. */
    readonly list: (request: PageRequest) => Effect.Effect<Page<Account>, ReinsError<"invalid_cursor">>
  }
>() {
  static readonly layer = Layer.effect(
    AccountStore,
    Effect.gen(function* () {
      const db = yield* Database
      const { sql } = db
      const find = (accountId: string) => db.first(sql<AccountRow>`select * from accounts where id = ${accountId}`)
      return AccountStore.of({
        find,
        findByEmail: (email) => db.first(sql<AccountRow>`select * from accounts where email = ${email}`),
        lockByEmail: (email) => db.first(sql<AccountRow>`select * from accounts where email = ${email}${db.forUpdate}`),
        setGit: Effect.fnUntraced(function* (accountId, git) {
          const columns = { git_name: git?.name ?? null, git_email: git?.email ?? null, updated_at: yield* now }
          yield* db.run(sql`update accounts set ${sql.update(columns)} where id = ${accountId}`)
        }),
        gitsOf: Effect.fnUntraced(function* (actors) {
          const ids = actors.filter(({ kind }) => kind === "account" || kind === "api_key").map(({ id }) => id)
          if (ids.length === 0) return new Map()
          const rows = yield* db.all(sql<AccountRow & { readonly actor: string }>`
            select accounts.*, accounts.id as actor from accounts where ${sql.in("accounts.id", ids)}
            union all
            select accounts.*, api_keys.id as actor from api_keys join accounts on accounts.id = api_keys.account_id
            where ${sql.in("api_keys.id", ids)}`)
          return new Map(
            rows.flatMap((row) => {
              const git = row.state === "active" ? gitOf(row) : null
              return git === null ? [] : [[row.actor, git] as const]
            })
          )
        }),
        insert: Effect.fnUntraced(function* (values) {
          const at = yield* now
          const row = { id: yield* newId(AccountId), ...values, created_at: at, updated_at: at }
          return yield* db.first(sql<AccountRow>`insert into accounts ${sql.insert(row)}
            on conflict (email) do nothing returning *`)
        }),
        registerAgain: Effect.fnUntraced(function* (accountId, values) {
          const at = yield* now
          yield* db.run(sql`update accounts set ${sql.update({ ...values, updated_at: at })}
            where id = ${accountId} and state = 'unverified'`)
        }),
        activate: Effect.fnUntraced(function* (accountId) {
          const at = yield* now
          return yield* db.first(sql<AccountRow>`update accounts set state = 'active', updated_at = ${at}
            where id = ${accountId} and ${sql.in("state", accountStates.sourcesOf("active"))} returning *`)
        }),
        disable: Effect.fnUntraced(function* (accountId) {
          const account = yield* db.first(
            sql<AccountRow>`select * from accounts where id = ${accountId}${db.forUpdate}`
          )
          if (account === undefined) return yield* notFound()
          yield* accountStates.check(account.state, "disabled")
          const at = yield* now
          yield* db.run(sql`update accounts set state = 'disabled', updated_at = ${at} where id = ${accountId}`)
          yield* ringAccess(accountId)
          return { ...account, state: "disabled" as const }
        }),
        replaceHash: Effect.fnUntraced(function* ({ id, password_hash }, hash) {
          const at = yield* now
          const replaced = yield* db.first(sql`update accounts set password_hash = ${hash}, updated_at = ${at}
            where id = ${id} and password_hash = ${password_hash} and state = 'active' returning id`)
          return replaced !== undefined
        }),
        holdHash: ({ id, password_hash }) =>
          Effect.map(
            db.first(sql`select id from accounts
              where id = ${id} and password_hash = ${password_hash}${db.forUpdate}`),
            (same) => same !== undefined
          ),
        anyVerified: Effect.map(
          db.first(sql`select id from accounts where state <> 'unverified' limit 1`),
          (row) => row !== undefined
        ),
        list: fn("AccountStore.list")(function* (request) {
          const { before, limit } = yield* Keyset.descending(request)
          const rows = yield* db.all(sql<AccountRow>`select * from accounts
            where id < ${before} order by id desc limit ${limit + 1}`)
          return Keyset.page(rows.map(toAccount), limit, (account) => account.id)
        })
      })
    })
  )
}
