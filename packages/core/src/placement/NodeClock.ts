import type { SqlClient } from "@effect/sql"
import type { Fragment } from "@effect/sql/Statement"

type Sql = SqlClient.SqlClient

/** Milliseconds of the database's clock. Only PostgreSQL has nodes. */
export const nowMs = (sql: Sql): Fragment => sql.literal("(extract(epoch from now()) * 1000)::bigint")

/** True where the column names a node whose lease has run out, or one that was forgotten. */
export const isLapsed = (sql: Sql, column: Fragment): Fragment =>
  sql`not exists (select 1 from nodes where name = ${column} and expires_at > ${nowMs(sql)})`
