import { SqlClient } from "@effect/sql"
import { isOlder } from "@reins/base/base/Release"
import { Effect } from "effect"

/**
 * The change that a step makes of the schema. It is whole or not there: a step is a transaction of its own, and those of a new database are one
 * together.
 */
export type Change = Effect.Effect<unknown, unknown, SqlClient.SqlClient>

/**
 * A step of the schema. `original` steps made the schema of the first release. An `expand` step only adds, so that servers of the release before
 * go on beside it and start on it. A `contract` step takes away what releases before `needs` use.
 */
export type Step =
  | { readonly kind: "original" | "expand"; readonly change: Change }
  | { readonly kind: "contract"; readonly needs: string; readonly change: Change }

/** A step of the schema that the first release has. */
export const original = (change: Change): Step => ({ kind: "original", change })

/** A step that only adds: tables, indexes, and columns that may be left out. */
export const expand = (change: Change): Step => ({ kind: "expand", change })

/** A step that takes away what releases before `needs` use. `needs` is the first release that works without, and is out already. */
export const contract = (needs: string, change: Change): Step => ({
  kind: "contract",
  needs,
  change: Effect.zipRight(change, raise(needs))
})

/** A change that is statements. */
export const statements = (list: ReadonlyArray<string>): Change =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    for (const statement of list) yield* sql.unsafe(statement)
  })

/** A change that is other statements on each database. */
export const byDialect = (lists: Readonly<Record<"pg" | "sqlite", ReadonlyArray<string>>>): Change =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    sql.onDialectOrElse({ pg: () => statements(lists.pg), orElse: () => statements(lists.sqlite) })
  )

/** The oldest release that may work with the schema. Undefined before a step has named any. The table of agreements has to be there. */
export const minRelease = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ value: string }>`select value from agreements where name = 'min_release'`
  return row?.value
})

/** Says that the schema needs a release. One that needs a newer release already goes on to need that. */
export const raise = (needs: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const stands = yield* minRelease
    if (stands !== undefined && !isOlder(stands, needs)) return
    yield* sql`insert into agreements (name, value) values ('min_release', ${needs})
      on conflict (name) do update set value = excluded.value`
  })
