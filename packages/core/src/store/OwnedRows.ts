import type { Fragment } from "@effect/sql/Statement"
import { Effect } from "effect"
import { Commit } from "./Commit.js"
import type { Database } from "./Database.js"

type Sql = Database["Type"]["sql"]

/** The rows of a table that go with a resource of an id. */
export interface OwnedRows {
  readonly table: string
  readonly of: (sql: Sql, id: string) => Fragment
}

/** The rows of a table that name a session in one column. */
export const bySession = (table: string, column = "session_id"): OwnedRows => ({
  table,
  of: (sql, id) => sql`${sql.literal(column)} = ${id}`
})

/** Deletes some of the rows, at most `limit`, and gives their number. */
export const deleteSome = (
  { all, dialect, sql }: Database["Type"],
  { of, table }: OwnedRows,
  id: string,
  limit: number
): Effect.Effect<number, never, Commit> => {
  const name = sql.literal(table)
  const place = sql.literal(dialect === "pg" ? "ctid" : "rowid")
  return Effect.zipRight(
    Commit,
    Effect.map(
      all(sql`delete from ${name} where ${place} in (select ${place} from ${name} where ${of(sql, id)} limit ${limit})
        returning 1 as deleted`),
      (rows) => rows.length
    )
  )
}
