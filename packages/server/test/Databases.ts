import type { Config } from "@reins/server/Config"
import { migratedPostgresDatabase } from "@reins/testing/store/Databases"
import { Effect, Layer } from "effect"
import { service } from "./Service.js"

/** The service on every database that it must work on. A suite runs once for each. */
export const servicesByDatabase = (change: Partial<Config> = {}, logs?: Layer.Layer<never>) =>
  [
    { database: "SQLite", layer: service(change, logs) },
    {
      database: "PostgreSQL",
      layer: Layer.unwrapScoped(
        Effect.map(migratedPostgresDatabase, (databaseUrl) => service({ ...change, databaseUrl }, logs))
      )
    }
  ] as const
