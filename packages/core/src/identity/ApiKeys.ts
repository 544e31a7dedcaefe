import { Context, Effect, Layer, ParseResult, Redacted } from "effect"
import { Access } from "../access/Access.js"
import type { ApiKeyInput } from "../api/AccountsApi.js"
import { fn } from "../base/Traced.js"
import type { ApiKey, IssuedApiKey, Scope } from "../domain/ApiKey.js"
import { type AccountId, ApiKeyId, newId, type WorkspaceId } from "../domain/Ids.js"
import type { Page, PageRequest } from "../domain/Page.js"
import type { Principal } from "../domain/Principal.js"
import { notFound, type ReinsError } from "../domain/ReinsError.js"
import { RequestInvalid } from "../domain/RequestInvalid.js"
import { fromMillis, now, Timestamp, toMillis } from "../domain/Timestamp.js"
import * as Token from "../secrets/Token.js"
import type { Command } from "../store/Command.js"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import { Journal } from "../store/Journal.js"
import * as Keyset from "../store/Keyset.js"
import { findById } from "./AccountRow.js"
import * as ApiKeySecret from "./ApiKeySecret.js"

export interface NewApiKey {
  readonly name: string
  readonly scopes: ReadonlyArray<Scope>
  readonly workspaceId: WorkspaceId | null
}

/** Secrets that programs call with. A principal that is bound to a workspace sees and makes the keys of that workspace only. */
export class ApiKeys extends Context.Tag("@reins/core/identity/ApiKeys")<
  ApiKeys,
  {
    /** The keys of the account, revoked and expired ones too, newest first. */
    readonly list: (principal: Principal, page: PageRequest) => Effect.Effect<Page<ApiKey>, ReinsError>
    /** A new key with at most the scopes of the caller, which are the default. Its secret is given this once. */
    readonly create: (
      principal: Principal,
      input: typeof ApiKeyInput.Type
    ) => Command<IssuedApiKey, ReinsError | RequestInvalid>
    /** The key is refused from the next request on. Revoking it again changes nothing. */
    readonly revoke: (principal: Principal, keyId: string) => Command<ApiKey, ReinsError>
    /** Revokes the keys that an account has for a workspace. */
    readonly revokeBound: (accountId: string, workspaceId: string) => Effect.Effect<void, never, Commit>
    /**
     * Who calls with the secret; undefined when it is malformed, unknown, revoked or expired, the account is disabled, or the key is
     * for a workspace that the account no longer belongs to.
     */
    readonly authenticate: (secret: Redacted.Redacted) => Effect.Effect<Principal | undefined>
    /** A key that the operator makes for an active account. */
    readonly issueFor: (accountId: AccountId, key: NewApiKey) => Command<IssuedApiKey, ReinsError>
  }
>() {
  static readonly layer = Layer.effect(
    ApiKeys,
    Effect.gen(function* () {
      const db = yield* Database
      const { sql } = db
      const journal = yield* Journal
      const access = yield* Access

      const issue = Effect.fnUntraced(function* (
        accountId: AccountId,
        key: NewApiKey & { readonly expiresAt: Timestamp | null }
      ) {
        const secret = yield* ApiKeySecret.make
        const text = Redacted.value(secret)
        const row: ApiKeyRow = {
          id: yield* newId(ApiKeyId),
          workspace_id: key.workspaceId,
          name: key.name,
          prefix: text.slice(0, 7),
          last4: text.slice(-4),
          scopes: JSON.stringify(allScopes.filter((scope) => key.scopes.includes(scope))),
          expires_at: key.expiresAt,
          last_used_at: null,
          revoked_at: null,
          created_at: yield* now
        }
        const stored = { ...row, account_id: accountId, hash: Token.digest(secret) }
        yield* db.run(sql`insert into api_keys ${sql.insert(stored)}`)
        return { ...toApiKey(row), secret: text }
      })

      const findHolder = db.prepare(
        (
          digest: string
        ) => sql<KeyHolderRow>`select api_keys.id, account_id, workspace_id, scopes, last_used_at, expires_at
          from api_keys join accounts on accounts.id = account_id and accounts.state = 'active'
          where hash = ${digest} and revoked_at is null
          and (workspace_id is null or exists (select 1 from workspace_members
            where workspace_members.workspace_id = api_keys.workspace_id
            and workspace_members.account_id = api_keys.account_id))`
      )

      const within = (principal: Principal) =>
        principal.workspaceId === null ? sql.literal("") : sql`and workspace_id = ${principal.workspaceId}`

      return ApiKeys.of({
        list: fn("ApiKeys.list")(function* (principal, request) {
          yield* access.requireScope(principal, "admin")
          const before = yield* Keyset.decode(request.cursor)
          const limit = Keyset.limitOf(request)
          const rows = yield* db.all(sql<ApiKeyRow>`select * from api_keys where account_id = ${principal.accountId}
            ${within(principal)} ${before === undefined ? sql.literal("") : sql`and id < ${before}`}
            order by id desc limit ${limit + 1}`)
          return Keyset.map(
            Keyset.page(rows, limit, (row) => row.id),
            toApiKey
          )
        }),
        create: (principal, input) =>
          journal.prepared(
            "ApiKeys.create",
            Effect.gen(function* () {
              yield* access.requireScope(principal, "admin")
              const scopes = input.scopes ?? principal.scopes
              yield* Effect.forEach(scopes, (scope) => access.requireScope(principal, scope), { discard: true })
              const workspaceId = input.workspace_id ?? principal.workspaceId
              const expiresAt = input.expires_at ?? null
              yield* refusePast(expiresAt)
              return Effect.gen(function* () {
                if (workspaceId !== null) yield* access.read(principal, workspaceId)
                return yield* issue(principal.accountId, { name: input.name, scopes, workspaceId, expiresAt })
              })
            })
          ),
        revoke: (principal, keyId) =>
          journal.prepared(
            "ApiKeys.revoke",
            Effect.gen(function* () {
              yield* access.requireScope(principal, "admin")
              const at = yield* now
              return Effect.gen(function* () {
                const row = yield* db.first(sql<ApiKeyRow>`update api_keys set revoked_at = coalesce(revoked_at, ${at})
                where id = ${keyId} and account_id = ${principal.accountId} ${within(principal)} returning *`)
                return row === undefined ? yield* notFound() : toApiKey(row)
              })
            })
          ),
        revokeBound: fn("ApiKeys.revokeBound")(function* (accountId, workspaceId) {
          const at = yield* now
          yield* db.run(sql`update api_keys set revoked_at = ${at}
            where account_id = ${accountId} and workspace_id = ${workspaceId} and revoked_at is null`)
        }),
        authenticate: fn("ApiKeys.authenticate")(function* (secret) {
          if (!ApiKeySecret.isWellFormed(secret)) return undefined
          const at = yield* now
          const row = yield* db.first(findHolder(Token.digest(secret)))
          if (row === undefined || (row.expires_at !== null && row.expires_at <= at)) return undefined
          if (row.last_used_at === null || toMillis(at) - toMillis(row.last_used_at) >= minuteMs)
            yield* noteUse(row.id, at)
          return {
            accountId: row.account_id,
            scopes: JSON.parse(row.scopes),
            workspaceId: row.workspace_id,
            via: { kind: "api_key", keyId: row.id }
          }
        }),
        issueFor: (accountId, key) =>
          journal.prepared(
            "ApiKeys.issueFor",
            Effect.gen(function* () {
              const owner: Principal = { accountId, scopes: ["admin"], workspaceId: null, via: { kind: "embedded" } }
              return Effect.gen(function* () {
                const account = yield* findById(db, accountId)
                if (account?.state !== "active") return yield* notFound()
                if (key.workspaceId !== null) yield* access.read(owner, key.workspaceId)
                return yield* issue(accountId, { ...key, expiresAt: null })
              })
            })
          )
      })

      /** A call is not refused because its time could not be written down. */
      function noteUse(keyId: ApiKeyId, at: Timestamp) {
        const minuteAgo = fromMillis(toMillis(at) - minuteMs)
        return db
          .run(
            sql`update api_keys set last_used_at = ${at}
              where id = ${keyId} and (last_used_at is null or last_used_at <= ${minuteAgo})`
          )
          .pipe(
            Effect.catchAllDefect((defect) =>
              Effect.logWarning("the last use of an API key was not written", defect, { key_id: keyId })
            )
          )
      }
    })
  )
}

interface ApiKeyRow extends Omit<ApiKey, "scopes"> {
  readonly scopes: string
}

interface KeyHolderRow {
  readonly id: ApiKeyId
  readonly account_id: AccountId
  readonly workspace_id: WorkspaceId | null
  readonly scopes: string
  readonly last_used_at: Timestamp | null
  readonly expires_at: Timestamp | null
}

/** How precisely the last use of a key is known. */
const minuteMs = 60_000

const allScopes: ReadonlyArray<Scope> = ["admin", "write", "read"]

const toApiKey = (row: ApiKeyRow): ApiKey => ({
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

const refusePast = Effect.fnUntraced(function* (expiresAt: Timestamp | null) {
  if (expiresAt === null || expiresAt > (yield* now)) return
  return yield* new RequestInvalid({
    loc: ["body", "expires_at"],
    issue: new ParseResult.Type(Timestamp.ast, expiresAt, "The time of expiry must be in the future"),
    input: expiresAt
  })
})
