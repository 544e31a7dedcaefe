import type { Actor } from "@reins/base/domain/Event"
import type { AccountId, ApiKeyId, SessionId, WorkspaceId } from "@reins/base/domain/Ids"
import type { Page, PageRequest } from "@reins/base/domain/Page"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import { now, type Timestamp } from "@reins/base/domain/Timestamp"
import * as Token from "@reins/base/secrets/Token"
import { Effect, type Redacted } from "effect"
import { mayChangeSince } from "../access/Memberships.js"
import { isInForce } from "../identity/InForce.js"
import { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import * as Keyset from "../store/Keyset.js"
import type { Share, ShareState } from "./Share.js"

/** A share with what decides its rights. */
export interface StoredShare extends Omit<Share, "created_by" | "state"> {
  readonly workspace_id: WorkspaceId
  /** The account whose rights the share rests on. */
  readonly account_id: AccountId
  readonly api_key_id: ApiKeyId | null
}

interface Row extends Omit<StoredShare, "includes"> {
  readonly includes: string
}

/** The rows of shares. A token is stored as its digest, and not any more once its link was taken back. */
export const shareStore = Effect.map(Database, (db) => {
  const { sql } = db
  const acting = { account: sql`session_shares.account_id`, key: sql`session_shares.api_key_id` }
  // The account has been a member who may change things since it shared, is active, and the key that shared is good.
  const standing = (at: Timestamp) =>
    sql.and([
      mayChangeSince(sql, {
        workspace: "session_shares.workspace_id",
        account: "session_shares.account_id",
        since: "session_shares.created_at"
      }),
      isInForce(sql, acting, at)
    ])

  const shown = Effect.fnUntraced(function* (row: Row & { readonly standing: unknown }) {
    return toShare(row, stateOf(row, Number(row.standing) === 1, yield* now))
  })
  const columns = Effect.map(
    now,
    (at) => sql`session_shares.*, case when ${standing(at)} then 1 else 0 end as standing`
  )

  return {
    insert: (share: StoredShare, token: Redacted.Redacted): Effect.Effect<void, never, Commit> =>
      Effect.zipRight(
        Commit,
        db.run(
          sql`insert into session_shares ${sql.insert({
            ...share,
            includes: JSON.stringify(share.includes),
            digest: Token.digest(token)
          })}`
        )
      ),
    /** A share as it stands, by its id. */
    find: Effect.fnUntraced(function* (id: string) {
      const row = yield* db.first(
        sql<Row & { readonly standing: unknown }>`select ${yield* columns} from session_shares where id = ${id}`
      )
      return row === undefined ? undefined : yield* shown(row)
    }),
    /** The shares of a session, newest first. */
    list: Effect.fnUntraced(function* (
      sessionId: SessionId,
      page: PageRequest
    ): Effect.fn.Return<Page<Share>, ReinsError<"invalid_cursor">> {
      const { before, limit } = yield* Keyset.descending(page)
      const rows = yield* db.all(sql<Row & { readonly standing: unknown }>`select ${yield* columns} from session_shares
        where session_id = ${sessionId} and id < ${before} order by id desc limit ${limit + 1}`)
      return Keyset.page(yield* Effect.forEach(rows, shown), limit, ({ id }) => id)
    }),
    /** The share that a token opens now. One statement decides, so its time does not tell why there is none. */
    open: Effect.fnUntraced(function* (token: Redacted.Redacted) {
      const at = yield* now
      const row = yield* db.first(sql<Row>`select session_shares.* from session_shares
        where digest = ${Token.digest(token)} and (expires_at is null or expires_at > ${at}) and ${standing(at)}`)
      return row === undefined ? undefined : toStored(row)
    }),
    /** Takes a share back. One that was taken back stays as it is. */
    revoke: Effect.fnUntraced(function* (id: string): Effect.fn.Return<void, never, Commit> {
      yield* Commit
      yield* db.run(sql`update session_shares set digest = null, revoked_at = coalesce(revoked_at, ${yield* now})
        where id = ${id}`)
    })
  }
})

const stateOf = ({ expires_at, revoked_at }: Row, isStanding: boolean, at: Timestamp): ShareState => {
  if (revoked_at !== null) return "revoked"
  if (expires_at !== null && expires_at <= at) return "expired"
  return isStanding ? "active" : "ended"
}

const toStored = ({
  account_id,
  api_key_id,
  created_at,
  expires_at,
  id,
  includes,
  revoked_at,
  session_id,
  workspace_id
}: Row): StoredShare => ({
  id,
  session_id,
  workspace_id,
  account_id,
  api_key_id,
  includes: JSON.parse(includes),
  created_at,
  expires_at,
  revoked_at
})

const toShare = (row: Row, state: ShareState): Share => {
  const { account_id, api_key_id, workspace_id, ...share } = toStored(row)
  return { ...share, state, created_by: authorOf({ account_id, api_key_id }) }
}

const authorOf = ({ account_id, api_key_id }: Pick<StoredShare, "account_id" | "api_key_id">): Actor =>
  api_key_id === null ? { kind: "account", id: account_id } : { kind: "api_key", id: api_key_id }
