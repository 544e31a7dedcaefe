import type { SqlClient, Statement } from "@effect/sql"
import type { Timestamp } from "@reins/base/domain/Timestamp"
import { isMember } from "../access/Memberships.js"

// Owns what makes a key good. Whoever acts by a key that somebody has given before asks one of these, so that all rooms mean the same by it.

type Sql = SqlClient.SqlClient
type Fragment = Statement.Fragment

/** A condition on a row of `accounts`: it may act. */
const isActive = (sql: Sql): Fragment => sql`accounts.state = 'active'`

/**
 * A condition on a row of `api_keys`: it is not revoked, its account is active, and that account belongs to the workspace that the key is for. The time of
 * its end is left to `isUnexpired`.
 */
export const stands = (sql: Sql): Fragment =>
  sql`(api_keys.revoked_at is null
    and exists (select 1 from accounts where accounts.id = api_keys.account_id and ${isActive(sql)})
    and (api_keys.workspace_id is null or ${isMember(sql, "api_keys.workspace_id", "api_keys.account_id")}))`

/** A condition on a row of `api_keys`: it has not expired at a time. */
const isUnexpired = (sql: Sql, at: Timestamp): Fragment =>
  sql`(api_keys.expires_at is null or api_keys.expires_at > ${at})`

/** The account and the key by which somebody acts, as they stand in a statement that has neither `accounts` nor `api_keys` itself. */
interface Acting {
  readonly account: Fragment
  /** Null where no key is behind the account. Its value may be null too. */
  readonly key: Fragment | null
}

/** A condition: the account is active and the key, where there is one, is a good key of that account. */
export const isInForce = (sql: Sql, { account, key }: Acting, at: Timestamp): Fragment => {
  const isKnown = sql`exists (select 1 from accounts where accounts.id = ${account} and ${isActive(sql)})`
  return key === null
    ? isKnown
    : sql`(${isKnown} and (${key} is null or exists (select 1 from api_keys where api_keys.id = ${key}
        and api_keys.account_id = ${account} and ${stands(sql)} and ${isUnexpired(sql, at)})))`
}

/** A table to join: the `id`, `scopes` and `last_used_at` of the good keys of apps. */
export const appKeys = (sql: Sql, at: Timestamp): Fragment =>
  sql`(select api_keys.id, api_keys.scopes, api_keys.last_used_at from api_keys
    where api_keys.is_app = 1 and ${stands(sql)} and ${isUnexpired(sql, at)})`

/** A query: the keys of apps whose access was ended, by itself or with the account or the membership. */
export const endedAppKeys = (sql: Sql): Fragment =>
  sql`select id from api_keys where is_app = 1 and revoked_at is not null`
