import { randomBytes } from "node:crypto"
import { Bell } from "@reins/core/store/Bell"
import type { Database } from "@reins/core/store/Database"
import * as Postgres from "@reins/core/store/Postgres"
import * as Sqlite from "@reins/core/store/Sqlite"
import { Effect, Layer, Redacted } from "effect"
import pg from "pg"
import { inject } from "vitest"

declare module "vitest" {
  interface ProvidedContext {
    /** The maintenance database of a PostgreSQL server that lives as long as the test run. */
    readonly postgresUrl: string
  }
}

/** Runs statements on the maintenance database, over a connection of their own. */
export const administer = (statement: string) =>
  Effect.promise(async () => {
    const client = new pg.Client({ connectionString: inject("postgresUrl") })
    await client.connect()
    try {
      await client.query(statement)
    } finally {
      await client.end()
    }
  })

/** The URL of a fresh PostgreSQL database, which is dropped with the scope. */
export const postgresDatabase = Effect.gen(function* () {
  const name = `reins_${randomBytes(8).toString("hex")}`
  yield* Effect.acquireRelease(administer(`create database ${name}`), () =>
    administer(`drop database ${name} with (force)`)
  )
  const url = new URL(inject("postgresUrl"))
  url.pathname = `/${name}`
  return Redacted.make(url.href)
})

/** Every database that a store must work on. A suite runs once for each. */
export const databases: ReadonlyArray<{
  readonly name: string
  readonly layer: Layer.Layer<Database | Bell>
}> = [
  { name: "SQLite", layer: Layer.merge(Sqlite.layerMemory, Bell.layer) },
  { name: "PostgreSQL", layer: Layer.orDie(Layer.unwrapScoped(Effect.map(postgresDatabase, Postgres.layer))) }
]
