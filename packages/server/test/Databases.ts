import type { Config } from "@reins/server/Config"
import { flowDatabases, migratedPostgresDatabase } from "@reins/testing/store/Databases"
import { Effect, Layer } from "effect"
import { service } from "./Service.js"

/** The service on every database that it must work on. A suite runs once for each. */
export const servicesByDatabase = (
  change: Partial<Config> = {},
  logs?: Layer.Layer<never>
): ReadonlyArray<{ readonly database: "SQLite" | "PostgreSQL"; readonly layer: ReturnType<typeof service> }> => [
  { database: "SQLite", layer: service(change, logs) },
  {
    database: "PostgreSQL",
    layer: Layer.unwrapScoped(
      Effect.map(migratedPostgresDatabase, (databaseUrl) => service({ ...change, databaseUrl }, logs))
    )
  }
]

/** The service on the databases of a flow: `npm test` has SQLite, and the matrix PostgreSQL. */
export const flowServices: typeof servicesByDatabase = (change, logs) =>
  servicesByDatabase(change, logs).filter(({ database }) => flowDatabases.some(({ name }) => name === database))
