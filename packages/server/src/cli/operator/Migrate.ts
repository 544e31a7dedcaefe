import { existsSync } from "node:fs"
import { SqlClient } from "@effect/sql"
import { release } from "@reins/base/base/Release"
import { command, flag } from "@reins/cli/Command"
import { CommandFailed } from "@reins/cli/CommandFailed"
import { printJson } from "@reins/cli/terminal/Output"
import { Database } from "@reins/core/store/Database"
import { databaseFile } from "@reins/core/store/DataDirectory"
import { pending, requireNoneOlder, requireUsable, type SchemaState, stateOf } from "@reins/core/store/Migrations"
import { Effect, Layer } from "effect"
import type { Config } from "../../Config.js"
import * as Installation from "./Installation.js"
import { configOf, installationOptions } from "./Settings.js"

const noDatabase: SchemaState = { schema: [], minRelease: null }

/** The schema of a database; that of an empty one without a database. Fails for one that this release does not work with. */
export const schemaOf = (config: Config) =>
  config.databaseUrl === undefined && !existsSync(databaseFile(config.dataDir))
    ? Effect.succeed(noDatabase)
    : Effect.provide(
        Effect.gen(function* () {
          const { sql } = yield* Database
          const state = yield* Effect.orDie(Effect.provideService(stateOf, SqlClient.SqlClient, sql))
          yield* requireUsable(state)
          return state
        }),
        Installation.databaseAsIs(config)
      )

/** Fails while a server is at work that uses what the next steps take away. */
const requireRoom = (config: Config, schema: SchemaState["schema"]) =>
  schema.length === 0
    ? Effect.void
    : Effect.gen(function* () {
        const { sql } = yield* Database
        const others = yield* Installation.others(config)
        yield* Effect.provideService(requireNoneOlder(schema, others), SqlClient.SqlClient, sql).pipe(
          Effect.catchTag("SqlError", Effect.die)
        )
      }).pipe(Effect.provide(Installation.databaseAsIs(config)))

/** `reins migrate` */
export const migrate = command({
  takes: {
    check: flag("check", "Change nothing, and fail when the schema is not up to date"),
    ...installationOptions
  },
  examples: [
    ["reins migrate --check", "Tell the steps that are missing"],
    ["reins migrate", "Take them, without serving"]
  ],
  run: ({ check, ...options }) =>
    Effect.gen(function* () {
      const config = yield* configOf(options)
      const { minRelease, schema } = yield* schemaOf(config)
      const missing = pending(schema)
      if (check) {
        yield* printJson({ event: "migrations", release, min_release: minRelease, applied: schema, pending: missing })
        if (missing.length === 0) return
        yield* requireRoom(config, schema)
        return yield* new CommandFailed({
          message: `The schema is not up to date: it lacks ${missing.length} ${missing.length === 1 ? "step" : "steps"}. Make a backup, then run: reins migrate`
        })
      }
      yield* Installation.required(config)
      yield* Effect.scoped(
        Layer.build(Layer.provide(Layer.discard(Installation.database(config)), Installation.lock(config)))
      )
      const after = yield* schemaOf(config)
      yield* printJson({
        event: "migrated",
        release,
        min_release: after.minRelease,
        applied: missing,
        schema: after.schema
      })
    })
})
