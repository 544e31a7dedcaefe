import type { AccountId, ApiKeyId, OauthGrantId, WorkspaceId } from "@reins/base/domain/Ids"
import type { Page, PageRequest } from "@reins/base/domain/Page"
import type { Principal } from "@reins/base/domain/Principal"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import { fromNow, now, type Timestamp } from "@reins/base/domain/Timestamp"
import { Context, Effect, Layer } from "effect"
import { appKeys, endedAppKeys } from "../identity/InForce.js"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import * as Keyset from "../store/Keyset.js"
import type { OauthClient } from "./ClientMetadata.js"
import type { AppScope, OauthGrant } from "./OauthGrant.js"

/** The app and the person of an access, and the audience of its tokens. */
interface Agreed {
  readonly account_id: AccountId
  readonly workspace_id: WorkspaceId
  readonly client_id: string
  readonly client_name: string
  readonly client_host: string | null
  readonly resource: string
  readonly unattended: number
  /** What the app asked its person for; null where an older release has not kept it. */
  readonly asked_scopes: ReadonlyArray<AppScope> | null
}

/** The permission of a person, until the app fetches its tokens. `hash` is the digest of the code. */
export interface CodeRow extends Agreed {
  readonly hash: string
  readonly login_id: string
  readonly redirect_uri: string
  readonly challenge: string
  readonly scopes: ReadonlyArray<AppScope>
  readonly lasts_days: number
  readonly expires_at: Timestamp
  readonly used_at: Timestamp | null
  readonly grant_id: OauthGrantId | null
}

export interface GrantRow extends Agreed {
  readonly id: OauthGrantId
  readonly key_id: ApiKeyId
  readonly created_at: Timestamp
  readonly expires_at: Timestamp
}

export type TokenKind = "access" | "refresh"

/** A token with its access. `hash` is the digest of the token. */
export interface TokenRow {
  readonly hash: string
  readonly used_at: Timestamp | null
  readonly expires_at: Timestamp
  readonly grant: GrantRow
}

/** A registration whose app has no access goes after so many days. */
const registeredDays = 30
const dayMs = 86_400_000

/** The rows of apps, codes, accesses and tokens. */
export class OauthStore extends Context.Tag("@reins/core/oauth/OauthStore")<
  OauthStore,
  {
    readonly insertClient: (client: OauthClient) => Effect.Effect<void, never, Commit>
    readonly findClient: (id: string) => Effect.Effect<OauthClient | undefined>
    /** Keeps a registration for another 30 days. It does nothing for the URL of a document. */
    readonly noteAllowed: (clientId: string) => Effect.Effect<void, never, Commit>
    readonly insertCode: (code: CodeRow) => Effect.Effect<void, never, Commit>
    /** The code of that digest, used and expired ones too. Other commits that look for it wait until this one ends. */
    readonly lockCode: (hash: string) => Effect.Effect<CodeRow | undefined, never, Commit>
    readonly useCode: (hash: string, grantId: OauthGrantId) => Effect.Effect<void, never, Commit>
    readonly insertGrant: (grant: GrantRow) => Effect.Effect<void, never, Commit>
    readonly findGrant: (id: string) => Effect.Effect<GrantRow | undefined>
    /** The accesses that the principal has given and that still count, newest first. */
    readonly list: (
      principal: Principal,
      page: PageRequest
    ) => Effect.Effect<Page<OauthGrant>, ReinsError<"invalid_cursor">>
    /** An access that the principal has given; undefined for any other. */
    readonly findOwn: (principal: Principal, id: string) => Effect.Effect<OauthGrant | undefined>
    readonly insertToken: (
      token: { readonly hash: string; readonly kind: TokenKind; readonly expires_at: Timestamp },
      grantId: OauthGrantId
    ) => Effect.Effect<void, never, Commit>
    /** The token of that digest, unless it has expired. A used one is given back. */
    readonly findToken: (hash: string, kind: TokenKind) => Effect.Effect<TokenRow | undefined>
    /** Uses a refresh token up. False when it was used before. Of several callers at the same time one gets true. */
    readonly useToken: (hash: string) => Effect.Effect<boolean, never, Commit>
    readonly removeToken: (hash: string) => Effect.Effect<void, never, Commit>
    readonly removeTokensOf: (grantId: OauthGrantId) => Effect.Effect<void, never, Commit>
    /** Deletes codes, tokens, accesses and registrations that no longer count. Each statement is a commit of its own. */
    readonly purge: Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.effect(
    OauthStore,
    Effect.gen(function* () {
      const db = yield* Database
      const { sql } = db

      const isOwn = ({ accountId, workspaceId }: Principal) =>
        workspaceId === null
          ? sql`account_id = ${accountId}`
          : sql`account_id = ${accountId} and workspace_id = ${workspaceId}`
      const shown = (at: Timestamp) =>
        sql`select oauth_grants.*, app_keys.scopes, app_keys.last_used_at from oauth_grants
          join ${appKeys(sql, at)} as app_keys on app_keys.id = key_id`

      const accessOf = db.prepare(
        (hash: string, kind: TokenKind, at: Timestamp) =>
          sql<TokenColumns>`select hash, used_at, oauth_tokens.expires_at as token_expires_at, oauth_grants.*
            from oauth_tokens join oauth_grants on oauth_grants.id = grant_id
            where hash = ${hash} and kind = ${kind} and oauth_tokens.expires_at > ${at} and oauth_grants.expires_at > ${at}`
      )

      return OauthStore.of({
        insertClient: Effect.fnUntraced(function* ({ id, name, redirectUris }) {
          const at = yield* now
          const row = { id, name, redirect_uris: JSON.stringify(redirectUris), created_at: at, allowed_at: at }
          yield* db.run(sql`insert into oauth_clients ${sql.insert(row)}`)
        }),
        findClient: (id) =>
          Effect.map(
            db.first(sql<{ id: string; name: string; redirect_uris: string }>`select id, name, redirect_uris
              from oauth_clients where id = ${id}`),
            (row) => row && { id: row.id, name: row.name, host: null, redirectUris: JSON.parse(row.redirect_uris) }
          ),
        noteAllowed: Effect.fnUntraced(function* (clientId) {
          yield* db.run(sql`update oauth_clients set allowed_at = ${yield* now} where id = ${clientId}`)
        }),
        insertCode: ({ scopes, ...code }) =>
          db.run(sql`insert into oauth_codes ${sql.insert({ ...stored(code), scopes: JSON.stringify(scopes) })}`),
        lockCode: (hash) =>
          Effect.map(
            db.first(sql<Stored<Omit<CodeRow, "scopes">> & { readonly scopes: string }>`select * from oauth_codes
              where hash = ${hash}${db.forUpdate}`),
            (row) => row && { ...read(row), scopes: JSON.parse(row.scopes) }
          ),
        useCode: Effect.fnUntraced(function* (hash, grantId) {
          yield* db.run(sql`update oauth_codes set used_at = ${yield* now}, grant_id = ${grantId} where hash = ${hash}`)
        }),
        insertGrant: (grant) => db.run(sql`insert into oauth_grants ${sql.insert(stored(grant))}`),
        findGrant: (id) =>
          Effect.map(
            db.first(sql<Stored<GrantRow>>`select * from oauth_grants where id = ${id}`),
            (row) => row && read(row)
          ),
        list: Effect.fnUntraced(function* (principal, request) {
          const { before, limit } = yield* Keyset.descending(request)
          const at = yield* now
          const rows =
            yield* db.all(sql<ShownRow>`${shown(at)} where ${isOwn(principal)} and oauth_grants.id < ${before}
            and expires_at > ${at} order by oauth_grants.id desc limit ${limit + 1}`)
          return Keyset.page(rows.map(toGrant), limit, ({ id }) => id)
        }),
        findOwn: Effect.fnUntraced(function* (principal, id) {
          const row = yield* db.first(
            sql<ShownRow>`${shown(yield* now)} where oauth_grants.id = ${id} and ${isOwn(principal)}`
          )
          return row && toGrant(row)
        }),
        insertToken: ({ expires_at, hash, kind }, grant_id) =>
          db.run(sql`insert into oauth_tokens ${sql.insert({ hash, grant_id, kind, expires_at })}`),
        findToken: Effect.fnUntraced(function* (hash, kind) {
          const row = yield* db.first(accessOf(hash, kind, yield* now))
          if (row === undefined) return undefined
          const { hash: found, token_expires_at, used_at, ...grant } = row
          return { hash: found, used_at, expires_at: token_expires_at, grant: read(grant) }
        }),
        useToken: Effect.fnUntraced(function* (hash) {
          const used = yield* db.first(sql`update oauth_tokens set used_at = ${yield* now}
            where hash = ${hash} and used_at is null returning hash`)
          return used !== undefined
        }),
        removeToken: (hash) => db.run(sql`delete from oauth_tokens where hash = ${hash}`),
        removeTokensOf: (grantId) => db.run(sql`delete from oauth_tokens where grant_id = ${grantId}`),
        purge: Effect.gen(function* () {
          const at = yield* now
          yield* db.run(sql`delete from oauth_codes where expires_at <= ${yield* fromNow(-dayMs)}`)
          yield* db.run(sql`delete from oauth_tokens where expires_at <= ${at}`)
          yield* db.run(sql`delete from oauth_grants where expires_at <= ${at}`)
          yield* db.run(sql`delete from oauth_grants where key_id in (${endedAppKeys(sql)})`)
          yield* db.run(sql`delete from oauth_clients where allowed_at <= ${yield* fromNow(-registeredDays * dayMs)}
            and not exists (select 1 from oauth_grants where oauth_grants.client_id = oauth_clients.id)`)
        })
      })
    })
  )
}

/** A row as it is stored: with its list as a text. */
type Stored<Row extends Agreed> = Omit<Row, "asked_scopes"> & { readonly asked_scopes: string | null }

const stored = <Row extends Agreed>({ asked_scopes, ...row }: Row) => ({
  ...row,
  asked_scopes: asked_scopes === null ? null : JSON.stringify(asked_scopes)
})

const read = <Row extends { readonly asked_scopes: string | null }>({ asked_scopes, ...row }: Row) => ({
  ...row,
  asked_scopes: asked_scopes === null ? null : (JSON.parse(asked_scopes) as ReadonlyArray<AppScope>)
})

interface TokenColumns extends Stored<GrantRow> {
  readonly hash: string
  readonly used_at: Timestamp | null
  readonly token_expires_at: Timestamp
}

interface ShownRow extends Stored<GrantRow> {
  readonly scopes: string
  readonly last_used_at: Timestamp | null
}

const toGrant = (row: ShownRow): OauthGrant => ({
  id: row.id,
  client_name: row.client_name,
  client_host: row.client_host,
  workspace_id: row.workspace_id,
  key_id: row.key_id,
  scopes: JSON.parse(row.scopes),
  unattended: row.unattended === 1,
  created_at: row.created_at,
  last_used_at: row.last_used_at,
  expires_at: row.expires_at
})
