import { assert, it } from "@effect/vitest"
import { cacheWithSmallAgent } from "@reins/testing/harness/SmallAgent"
import { postgresDatabase } from "@reins/testing/store/Databases"
import { Effect, Redacted } from "effect"
import { isRecording, keepExamples } from "../contract/Recording.js"
import { listed } from "../contract/Specification.js"
import * as Story from "./Story.js"
import { server, surroundings, temporaryDirectory } from "./Surroundings.js"
import { Visitor } from "./Visitor.js"

/** With the real agent on SQLite; on PostgreSQL the database is what is proved. */
const databases = [
  { database: "SQLite", settings: Effect.succeed({}) },
  {
    database: "PostgreSQL",
    settings: Effect.gen(function* () {
      const url = yield* postgresDatabase
      return {
        REINS_DATABASE_URL: Redacted.value(url),
        REINS_CACHE_DIR: cacheWithSmallAgent(yield* temporaryDirectory)
      }
    })
  }
]

for (const { database, settings } of databases) {
  it.scopedLive(
    `every operation of the specification does its part in one piece of work, on ${database}`,
    () =>
      Effect.gen(function* () {
        const around = yield* surroundings
        const { url } = yield* server(around.dataDir, yield* settings)
        const visitor = new Visitor(url)
        yield* Effect.promise(() => Story.whole(visitor, around, { agentKeepsState: database === "SQLite" }))
        const missing = listed.map(({ name }) => name).filter((name) => !visitor.succeeded.has(name))
        assert.deepStrictEqual(missing, [])
        if (isRecording && database === "SQLite") keepExamples(visitor.recorded)
      }),
    1_200_000
  )
}
