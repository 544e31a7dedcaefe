import { randomBytes } from "node:crypto"
import type { Config } from "@reins/server/Config"
import { Effect, Layer, Redacted } from "effect"
import pg from "pg"
import { inject } from "vitest"
import { service } from "./Service.js"

declare module "vitest" {
  interface ProvidedContext {
    /** The maintenance database of a PostgreSQL server that lives as long as the test run. */
    readonly postgresUrl: string
  }
}

const administer = (statement: string) =>
  Effect.promise(async () => {
    const client = new pg.Client({ connectionString: inject("postgresUrl") })
    await client.connect()
    try {
      await client.query(statement)
    } finally {
      await client.end()
    }
  })

/** A fresh PostgreSQL database, which is dropped with the scope. */
const postgresDatabase = Effect.gen(function* () {
  const name = `reins_${randomBytes(8).toString("hex")}`
  yield* Effect.acquireRelease(administer(`create database ${name}`), () =>
    administer(`drop database ${name} with (force)`)
  )
  const url = new URL(inject("postgresUrl"))
  url.pathname = `/${name}`
  return Redacted.make(url.href)
})

/** The service on every database that it must work on. A suite runs once for each. */
export const servicesByDatabase = (change: Partial<Config> = {}, logs?: Layer.Layer<never>) =>
  [
    { database: "SQLite", layer: service(change, logs) },
    {
      database: "PostgreSQL",
      layer: Layer.unwrapScoped(
        Effect.map(postgresDatabase, (databaseUrl) => service({ ...change, databaseUrl }, logs))
      )
    }
  ] as const
