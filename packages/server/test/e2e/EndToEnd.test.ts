import { it } from "@effect/vitest"
import { cacheWithSmallAgent } from "@reins/testing/harness/SmallAgent"
import { flowDatabases, postgresDatabase } from "@reins/testing/store/Databases"
import { Effect, Redacted } from "effect"
import { temporaryDirectory } from "./Surroundings.js"
import { told } from "./Told.js"

const databases = [
  { database: "SQLite", settings: Effect.succeed({}) },
  {
    database: "PostgreSQL",
    settings: Effect.map(postgresDatabase, (url) => ({ REINS_DATABASE_URL: Redacted.value(url) }))
  }
].filter(({ database }) => flowDatabases.some(({ name }) => name === database))

for (const { database, settings } of databases) {
  it.scopedLive(
    `every operation of the specification does its part in one piece of work, on ${database}`,
    () =>
      Effect.gen(function* () {
        const cache = { REINS_CACHE_DIR: cacheWithSmallAgent(yield* temporaryDirectory) }
        yield* told({ ...cache, ...(yield* settings) }, { agentKeepsState: false })
      }),
    1_200_000
  )
}
