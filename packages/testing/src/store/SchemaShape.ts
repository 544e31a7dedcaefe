import type { SqlClient } from "@effect/sql"
import type { SqlError } from "@effect/sql/SqlError"
import { Effect } from "effect"

interface Column {
  readonly type: string
  readonly isRequired: boolean
  readonly hasDefault: boolean
}

/** A condition that rows have to meet: a key, a reference, a check or a unique index. */
interface Condition {
  /** The columns that it is about. Empty where nobody can tell. */
  readonly columns: ReadonlyArray<string>
  readonly words: string
  /** The table that it refers to. */
  readonly refersTo?: string
  /** True for a reference that goes, or is emptied, with the row that it refers to. */
  readonly gives?: boolean
}

interface Table {
  readonly columns: ReadonlyMap<string, Column>
  readonly conditions: ReadonlyArray<Condition>
}

/** The tables of a schema by name, as far as statements can fail by them. */
export type SchemaShape = ReadonlyMap<string, Table>

/** Reads the shape of a schema. */
export const shapeOf = (sql: SqlClient.SqlClient): Effect.Effect<SchemaShape, SqlError> =>
  sql.onDialectOrElse({ pg: () => onPostgres(sql), orElse: () => onSqlite(sql) })

/**
 * The reasons for which a release that knows the schema `before` could fail on the one `after`, each in words: none where the schema was only
 * added to.
 */
export const taken = (before: SchemaShape, after: SchemaShape): ReadonlyArray<string> =>
  [...after]
    .flatMap(([name, table]) => {
      const old = before.get(name)
      return old === undefined ? referencesOf(name, table, before) : changesOf(name, old, table)
    })
    .concat([...before.keys()].filter((name) => !after.has(name)).map((name) => `${name} is gone`))

/** A row that a new table refers to could not be deleted by a release that does not know the table. */
const referencesOf = (name: string, { conditions }: Table, before: SchemaShape) =>
  conditions.flatMap(({ gives, refersTo }) =>
    refersTo !== undefined && before.has(refersTo) && gives !== true
      ? [`${name} keeps rows of ${refersTo} from being deleted`]
      : []
  )

const changesOf = (name: string, before: Table, after: Table): ReadonlyArray<string> => {
  const gone = [...before.columns.keys()].filter((column) => !after.columns.has(column))
  const changed = [...after.columns].flatMap(([column, { hasDefault, isRequired, type }]) => {
    const words = `${name}.${column}`
    const old = before.columns.get(column)
    if (old === undefined) return isRequired && !hasDefault ? [`${words} is new and required`] : []
    return [
      ...(old.type === type ? [] : [`${words} has another type`]),
      ...(isRequired && !old.isRequired ? [`${words} has become required`] : []),
      ...(old.hasDefault && !hasDefault ? [`${words} has no default any more`] : [])
    ]
  })
  const known = new Set(before.conditions.map(({ words }) => words))
  const tightened = after.conditions.filter(
    ({ columns, words }) =>
      !known.has(words) && (columns.length === 0 || columns.some((column) => before.columns.has(column)))
  )
  return [
    ...gone.map((column) => `${name}.${column} is gone`),
    ...changed,
    ...tightened.map(({ words }) => `${name} has a new condition: ${words}`)
  ]
}

const onPostgres = (sql: SqlClient.SqlClient) =>
  Effect.gen(function* () {
    const columns = yield* sql<{ table: string; name: string; type: string; required: number; given: number }>`
      select relname as table, attname as name, format_type(atttypid, atttypmod) as type,
        attnotnull::int as required, atthasdef::int as given
      from pg_attribute join pg_class on pg_class.oid = attrelid
      where relnamespace = 'public'::regnamespace and relkind = 'r' and attnum > 0 and not attisdropped`
    const constraints = yield* sql<{
      table: string
      words: string
      kind: string
      columns: string
      refers: string | null
      ends: string
    }>`
      select relname as table, pg_get_constraintdef(pg_constraint.oid) as words, contype::text as kind,
        (select json_agg(attname)::text from pg_attribute where attrelid = conrelid and attnum = any(conkey)) as columns,
        (select relname from pg_class as other where other.oid = confrelid) as refers, confdeltype::text as ends
      from pg_constraint join pg_class on pg_class.oid = conrelid where connamespace = 'public'::regnamespace and contype <> 'n'`
    const indexes = yield* sql<{ table: string; words: string; columns: string }>`
      select relname as table, pg_get_indexdef(indexrelid) as words,
        (select json_agg(attname)::text from pg_attribute where attrelid = indrelid and attnum = any(indkey)) as columns
      from pg_index join pg_class on pg_class.oid = indrelid
      where relnamespace = 'public'::regnamespace and indisunique
        and not exists (select 1 from pg_constraint where conindid = indexrelid)`
    const triggers = yield* sql<{ table: string; words: string }>`
      select relname as table, pg_get_triggerdef(pg_trigger.oid) as words
      from pg_trigger join pg_class on pg_class.oid = tgrelid where not tgisinternal`
    return shape(columns, [
      ...constraints.map(({ columns: of, ends, refers, table, words }) => ({
        table,
        condition: {
          columns: JSON.parse(of ?? "[]"),
          words,
          ...(refers !== null && { refersTo: refers, gives: ends === "c" || ends === "n" })
        }
      })),
      ...indexes.map(({ columns: of, table, words }) => ({
        table,
        condition: { columns: JSON.parse(of ?? "[]"), words }
      })),
      ...triggers.map(({ table, words }) => ({ table, condition: { columns: [], words } }))
    ])
  })

const onSqlite = (sql: SqlClient.SqlClient) =>
  Effect.gen(function* () {
    const columns = yield* sql<{ table: string; name: string; type: string; required: number; given: number }>`
      select m.name as "table", c.name, c.type, c."notnull" as required, c.dflt_value is not null as given
      from sqlite_master m join pragma_table_info(m.name) c where m.type = 'table'`
    const references = yield* sql<{ table: string; column: string; refers: string; ends: string }>`
      select m.name as "table", f."from" as "column", f."table" as refers, f.on_delete as ends
      from sqlite_master m join pragma_foreign_key_list(m.name) f where m.type = 'table'`
    const indexes = yield* sql<{ table: string; words: string; columns: string }>`
      select m.name as "table", coalesce(own.sql, 'unique') || ' ' || group_concat(coalesce(c.name, '?')) as words,
        json_group_array(c.name) as columns
      from sqlite_master m join pragma_index_list(m.name) i join pragma_index_info(i.name) c
        left join sqlite_master own on own.name = i.name
      where m.type = 'table' and i."unique" = 1 group by m.name, i.name`
    const tables = yield* sql<{ table: string; text: string; type: string }>`
      select tbl_name as "table", sql as text, type from sqlite_master where sql is not null and type in ('table', 'trigger')`
    return shape(columns, [
      ...references.map(({ column, ends, refers, table }) => ({
        table,
        condition: {
          columns: [column],
          words: `${column} references ${refers}`,
          refersTo: refers,
          gives: ends === "CASCADE" || ends === "SET NULL"
        }
      })),
      ...indexes.map(({ columns: of, table, words }) => ({
        table,
        condition: { columns: JSON.parse(of).filter((name: string | null) => name !== null), words }
      })),
      ...tables.flatMap(({ table, text, type }) =>
        (type === "trigger" ? [text] : checksIn(text)).map((words) => ({ table, condition: { columns: [], words } }))
      )
    ])
  })

/** The checks in the statement that makes a table, each up to the bracket that closes it. */
const checksIn = (statement: string): ReadonlyArray<string> =>
  [...statement.matchAll(/\bcheck\s*\(/gi)].map(({ 0: begin, index }) => {
    let depth = 1
    let end = index + begin.length
    for (; depth > 0 && end < statement.length; end++)
      depth += statement[end] === "(" ? 1 : statement[end] === ")" ? -1 : 0
    return statement.slice(index, end)
  })

const shape = (
  columns: ReadonlyArray<{
    readonly table: string
    readonly name: string
    readonly type: string
    readonly required: number
    readonly given: number
  }>,
  conditions: ReadonlyArray<{ readonly table: string; readonly condition: Condition }>
): SchemaShape =>
  new Map(
    [...new Set(columns.map(({ table }) => table))].map((name) => [
      name,
      {
        columns: new Map(
          columns
            .filter(({ table }) => table === name)
            .map(({ given, name: column, required, type }) => [
              column,
              { type: type.toLowerCase(), isRequired: required === 1, hasDefault: given === 1 }
            ])
        ),
        conditions: conditions.filter(({ table }) => table === name).map(({ condition }) => condition)
      }
    ])
  )
