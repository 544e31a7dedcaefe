import { randomBytes } from "node:crypto"
import { Bell } from "@reins/core/store/Bell"
import type { Database } from "@reins/core/store/Database"
import * as Postgres from "@reins/core/store/Postgres"
import * as Sqlite from "@reins/core/store/Sqlite"
import { Effect, Layer, Redacted } from "effect"
import pg from "pg"
import { inject } from "vitest"
import { rows } from "../Volume.js"

declare module "vitest" {
  interface ProvidedContext {
    /** The maintenance database of a PostgreSQL server that lives as long as the test run. */
    readonly postgresUrl: string
    /** The name of a database on that server with the schema and no rows, for copies. Nobody may be connected to it. */
    readonly postgresTemplate: string
  }
}

/** Runs statements on the maintenance database, over a connection of their own. */
export const administer = (statement: string) => Effect.promise(() => runOn("postgres", statement))

/** The URL of an empty PostgreSQL database, which is dropped with the scope. */
export const postgresDatabase = Effect.gen(function* () {
  const name = newName()
  yield* Effect.acquireRelease(administer(`create database ${name}`), () =>
    administer(`drop database ${name} with (force)`)
  )
  return urlOf(name)
})

/**
 * The URL of a PostgreSQL database that has the schema and no rows. Another test gets it once the scope has closed, unless its schema was
 * changed.
 */
export const migratedPostgresDatabase = Effect.map(
  Effect.acquireRelease(
    Effect.promise(async () => {
      const used = idle.pop()
      if (used !== undefined) {
        await runOn(used.name, emptying)
        if ((await schemaOf(used.name)) === used.schema) return used
        await runOn("postgres", `drop database ${used.name} with (force)`)
      }
      const name = newName()
      await runOn("postgres", `create database ${name} template ${inject("postgresTemplate")}`)
      return { name, schema: await schemaOf(name) }
    }),
    (used) => Effect.sync(() => idle.push(used))
  ),
  ({ name }) => urlOf(name)
)

/** Every database that a store must work on. A suite runs once for each. */
export const databases: ReadonlyArray<{
  readonly name: "SQLite" | "PostgreSQL"
  readonly layer: Layer.Layer<Database | Bell>
}> = [
  { name: "SQLite", layer: Layer.merge(Sqlite.layerMemory, Bell.layer) },
  {
    name: "PostgreSQL",
    layer: Layer.orDie(
      Layer.unwrapScoped(Effect.map(migratedPostgresDatabase, (url) => Postgres.layer(url, { clock: "process" })))
    )
  }
]

/**
 * The databases of a flow, whose SQL the suites of the stores have tried on both. `npm test` has it on SQLite, and one flow of each room on both;
 * the matrix has the rest.
 */
export const flowDatabases = databases.filter(
  ({ name }) => rows === "all" || name === (rows === "first" ? "SQLite" : "PostgreSQL")
)

/** The databases of a flow that is tried before several forges, with `forgesOn`. */
export const forgeDatabases = rows === "first" ? flowDatabases : databases

/** The unused databases of this process, with the schema of each. */
const idle: Array<{ readonly name: string; readonly schema: string }> = []

/** The names of everything that a schema consists of. */
const schema = `select concat_ws(' ',
  (select string_agg(concat(relname, relkind, attname), ' ' order by relname, attname) from pg_class
    join pg_attribute on attrelid = pg_class.oid where relnamespace = 'public'::regnamespace and attnum > 0),
  (select string_agg(conname, ' ' order by conname) from pg_constraint where connamespace = 'public'::regnamespace),
  (select string_agg(tgname, ' ' order by tgname) from pg_trigger where not tgisinternal),
  (select string_agg(proname, ' ' order by proname) from pg_proc where pronamespace = 'public'::regnamespace)) as names`

const schemaOf = async (name: string): Promise<string> => (await runOn(name, schema)).rows[0]?.names ?? ""

/** Ends the remaining connections, and deletes all rows except the record of the schema's steps. */
const emptying = `do $$
  declare found regclass;
  begin
    perform pg_terminate_backend(pid, 5000) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend';
    -- Rows go in any order: foreign keys are not looked at.
    set local session_replication_role = replica;
    for found in select oid from pg_class
      where relkind = 'r' and relnamespace = 'public'::regnamespace and relname <> 'effect_sql_migrations'
    loop execute format('delete from %s', found); end loop;
  end $$`

const newName = (): string => `reins_${randomBytes(8).toString("hex")}`

const urlOf = (name: string): Redacted.Redacted => {
  const url = new URL(inject("postgresUrl"))
  url.pathname = `/${name}`
  return Redacted.make(url.href)
}

const runOn = async (name: string, statement: string) => {
  const client = new pg.Client({ connectionString: Redacted.value(urlOf(name)) })
  await client.connect()
  try {
    return await client.query<{ names: string }>(statement)
  } finally {
    await client.end()
  }
}
