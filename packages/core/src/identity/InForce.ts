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
