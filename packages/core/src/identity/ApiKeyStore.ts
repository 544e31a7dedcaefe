import { fn } from "@reins/base/base/Traced"
import type { AccountId, ApiKeyId, WorkspaceId } from "@reins/base/domain/Ids"
import type { Page, PageRequest } from "@reins/base/domain/Page"
import type { Principal } from "@reins/base/domain/Principal"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import type { Scope } from "@reins/base/domain/Scope"
import { fromNow, now, type Timestamp } from "@reins/base/domain/Timestamp"
import { Context, Effect, Layer } from "effect"
import { type Commit, ringAccess } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import * as Keyset from "../store/Keyset.js"
import type { ApiKey } from "./ApiKey.js"
import { isInForce, stands } from "./InForce.js"

/** The account that a key speaks for, and what the key may do. */
export interface KeyHolder {
  readonly id: ApiKeyId
  readonly account_id: AccountId
  readonly workspace_id: WorkspaceId | null
  readonly scopes: ReadonlyArray<Scope>
  readonly last_used_at: Timestamp | null
  readonly expires_at: Timestamp | null
}

/** A key as it is stored. */
export type StoredApiKey = Omit<ApiKey, "budget">

/** The rows of API keys. A secret is stored as its digest. */
export class ApiKeyStore extends Context.Tag("@reins/core/identity/ApiKeyStore")<
  ApiKeyStore,
  {
    /** Stores a new key. `digest` is that of its secret. `isApp`: the key is that of an app, whose secret nobody has. */
    readonly insert: (
      accountId: AccountId,
      key: StoredApiKey,
      digest: string,
      isApp?: boolean
    ) => Effect.Effect<void, never, Commit>
    /** The keys that a principal sees, revoked and expired ones too, newest first. Those of apps are not among them. */
    readonly list: (
      principal: Principal,
      request: PageRequest
    ) => Effect.Effect<Page<StoredApiKey>, ReinsError<"invalid_cursor">>
    /** The time from which a key is refused; null for a key that does not expire. */
    readonly expiryOf: (keyId: string) => Effect.Effect<Timestamp | null>
    /** The account that a key was made for, whatever became of the key. Undefined for an unknown key. */
    readonly accountOf: (keyId: string) => Effect.Effect<AccountId | undefined>
    /** A key that the principal sees; undefined when it sees no such key. */
    readonly find: (principal: Principal, keyId: string) => Effect.Effect<StoredApiKey | undefined>
    /** Revokes a key that the principal sees, or leaves it revoked. Undefined when the principal sees no such key. */
    readonly revoke: (principal: Principal, keyId: string) => Effect.Effect<StoredApiKey | undefined, never, Commit>
    /** Revokes the key of an app, or leaves it revoked. */
    readonly revokeApp: (keyId: string) => Effect.Effect<void, never, Commit>
    /** Revokes the keys of all apps of an account. */
    readonly revokeApps: (accountId: string) => Effect.Effect<void, never, Commit>
    /** Revokes the keys that an account has for a workspace. */
    readonly revokeBound: (accountId: string, workspaceId: string) => Effect.Effect<void, never, Commit>
    /**
     * The holder of the key whose secret has that digest. Undefined when the key is unknown or revoked, the account is not active, or
     * the key is for a workspace that the account no longer belongs to. The holder of an expired key is given back.
     */
    readonly findHolder: (digest: string) => Effect.Effect<KeyHolder | undefined>
    /** `findHolder` for the key of an app, by its id. */
    readonly findAppHolder: (keyId: string) => Effect.Effect<KeyHolder | undefined>
    /** True while an account is active and, where a key is named, it is a good key of that account: `isInForce`. */
    readonly mayActFor: (accountId: string, keyId: string | null) => Effect.Effect<boolean>
    /**
     * Writes down that a key is used now, unless it was less than a minute ago. The statement is a commit of its own, because a
     * request that only reads has none.
     */
    readonly noteUse: (holder: KeyHolder) => Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.effect(
    ApiKeyStore,
    Effect.gen(function* () {
      const db = yield* Database
      const { sql } = db
      const holders = sql.literal(
        `select api_keys.id, account_id, workspace_id, scopes, last_used_at, expires_at
          from api_keys`
      )
      const holderOf = db.prepare(
        (digest: string) => sql<KeyHolderRow>`${holders} where hash = ${digest} and ${stands(sql)}`
      )
      const appHolderOf = db.prepare(
        (keyId: string) => sql<KeyHolderRow>`${holders} where api_keys.id = ${keyId} and is_app = 1 and ${stands(sql)}`
      )
      const seenBy = ({ accountId, workspaceId }: Principal) =>
        workspaceId === null
          ? sql`account_id = ${accountId} and is_app = 0`
          : sql`account_id = ${accountId} and is_app = 0 and workspace_id = ${workspaceId}`
      return ApiKeyStore.of({
        insert: (accountId, key, digest, isApp = false) => {
          const scopes = JSON.stringify(key.scopes)
          const row = { ...key, scopes, account_id: accountId, hash: digest, is_app: isApp ? 1 : 0 }
          return db.run(sql`insert into api_keys ${sql.insert(row)}`)
        },
        list: Effect.fnUntraced(function* (principal, request) {
          const { before, limit } = yield* Keyset.descending(request)
          const rows = yield* db.all(sql<ApiKeyRow>`select * from api_keys
            where ${seenBy(principal)} and id < ${before} order by id desc limit ${limit + 1}`)
          return Keyset.page(rows.map(toApiKey), limit, (key) => key.id)
        }),
        expiryOf: (keyId) =>
          Effect.map(
            db.first(sql<Pick<ApiKey, "expires_at">>`select expires_at from api_keys where id = ${keyId}`),
            (row) => row?.expires_at ?? null
          ),
        accountOf: (keyId) =>
          Effect.map(
            db.first(sql<Pick<KeyHolder, "account_id">>`select account_id from api_keys where id = ${keyId}`),
            (row) => row?.account_id
          ),
        find: (principal, keyId) =>
          Effect.map(
            db.first(sql<ApiKeyRow>`select * from api_keys where id = ${keyId} and ${seenBy(principal)}`),
            (row) => row && toApiKey(row)
          ),
        revoke: Effect.fnUntraced(function* (principal, keyId) {
          const at = yield* now
          const row = yield* db.first(sql<ApiKeyRow>`update api_keys set revoked_at = coalesce(revoked_at, ${at})
            where id = ${keyId} and ${seenBy(principal)} returning *`)
          yield* ringAccess(principal.accountId)
          return row === undefined ? undefined : toApiKey(row)
        }),
        revokeBound: fn("ApiKeyStore.revokeBound")(function* (accountId, workspaceId) {
          const at = yield* now
          yield* db.run(sql`update api_keys set revoked_at = ${at}
            where account_id = ${accountId} and workspace_id = ${workspaceId} and revoked_at is null`)
          yield* ringAccess(accountId)
        }),
        revokeApp: Effect.fnUntraced(function* (keyId) {
          const revoked = yield* db.all(sql<
            Pick<KeyHolder, "account_id">
          >`update api_keys set revoked_at = ${yield* now}
            where id = ${keyId} and is_app = 1 and revoked_at is null returning account_id`)
          yield* ringAccess(...revoked.map((key) => key.account_id))
        }),
        revokeApps: Effect.fnUntraced(function* (accountId) {
          yield* db.run(sql`update api_keys set revoked_at = ${yield* now}
            where account_id = ${accountId} and is_app = 1 and revoked_at is null`)
          yield* ringAccess(accountId)
        }),
        findHolder: (digest) => Effect.map(db.first(holderOf(digest)), toHolder),
        findAppHolder: (keyId) => Effect.map(db.first(appHolderOf(keyId)), toHolder),
        mayActFor: Effect.fnUntraced(function* (accountId, keyId) {
          const account = sql`cast(${accountId} as text)`
          const key = keyId === null ? null : sql`cast(${keyId} as text)`
          const row = yield* db.first(sql`select 1 as may where ${isInForce(sql, { account, key }, yield* now)}`)
          return row !== undefined
        }),
        noteUse: ({ id, last_used_at }) =>
          Effect.flatMap(fromNow(-60_000), (minuteAgo) =>
            last_used_at !== null && last_used_at > minuteAgo
              ? Effect.void
              : Effect.flatMap(now, (at) =>
                  db.run(sql`update api_keys set last_used_at = ${at}
                    where id = ${id} and (last_used_at is null or last_used_at <= ${minuteAgo})`)
                )
          )
      })
    })
  )
}

interface ApiKeyRow extends Omit<StoredApiKey, "scopes"> {
  readonly scopes: string
}

interface KeyHolderRow extends Omit<KeyHolder, "scopes"> {
  readonly scopes: string
}

const toHolder = (row: KeyHolderRow | undefined): KeyHolder | undefined =>
  row === undefined ? undefined : { ...row, scopes: JSON.parse(row.scopes) }

const toApiKey = (row: ApiKeyRow): StoredApiKey => ({
  id: row.id,
  name: row.name,
  prefix: row.prefix,
  last4: row.last4,
  scopes: JSON.parse(row.scopes),
  workspace_id: row.workspace_id,
  expires_at: row.expires_at,
  last_used_at: row.last_used_at,
  revoked_at: row.revoked_at,
  created_at: row.created_at
})
