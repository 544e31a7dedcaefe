import type { SqlClient, Statement } from "@effect/sql"

type Sql = SqlClient.SqlClient

/**
 * A condition: the account that one column names is active, and the API key that another names is not revoked. A column of the key that is null
 * asks for none.
 */
export const isInForce = (
  sql: Sql,
  { account, key }: { readonly account: string; readonly key: string }
): Statement.Fragment =>
  sql`(exists (select 1 from accounts where accounts.id = ${sql.literal(account)} and accounts.state = 'active')
    and (${sql.literal(key)} is null or exists (select 1 from api_keys
      where api_keys.id = ${sql.literal(key)} and api_keys.revoked_at is null)))`

/** A table to join: the `id`, `scopes` and `last_used_at` of the keys of apps that are not revoked, while their account is active. */
export const appKeys = (sql: Sql): Statement.Fragment =>
  sql`(select api_keys.id, api_keys.scopes, api_keys.last_used_at from api_keys
    join accounts on accounts.id = api_keys.account_id and accounts.state = 'active'
    where api_keys.is_app = 1 and api_keys.revoked_at is null)`
