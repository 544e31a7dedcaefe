import { existsSync } from "node:fs"
import { Command, Options } from "@effect/cli"
import { SqlClient } from "@effect/sql"
import { Database } from "@reins/core/store/Database"
import { databaseFile } from "@reins/core/store/DataDirectory"
import { applied, pending, requireKnown } from "@reins/core/store/Migrations"
import { Effect, Layer } from "effect"
import type { Config } from "../Config.js"
import { CommandFailed } from "./CommandFailed.js"
import * as Installation from "./Installation.js"
import { printJson } from "./Output.js"
import { configOf, installationOptions } from "./Settings.js"

/** The steps of the schema that a database has; none without a database. Fails for a database of a newer release. */
export const stepsOf = (config: Config) =>
  config.databaseUrl === undefined && !existsSync(databaseFile(config.dataDir))
    ? Effect.succeed([])
    : Effect.provide(
        Effect.gen(function* () {
          const { sql } = yield* Database
          const steps = yield* Effect.orDie(Effect.provideService(applied, SqlClient.SqlClient, sql))
          yield* requireKnown(steps)
          return steps
        }),
        Installation.databaseAsIs(config)
      )

/** `reins migrate` */
export const migrate = Command.make(
  "migrate",
  {
    ...installationOptions,
    check: Options.boolean("check").pipe(
      Options.withDescription("Change nothing, and fail when the schema is not up to date")
    )
  },
  ({ check, ...options }) =>
    Effect.gen(function* () {
      const config = yield* configOf(options)
      const before = yield* stepsOf(config)
      const missing = pending(before)
      if (check) {
        yield* printJson({ event: "migrations", applied: before, pending: missing })
        if (missing.length === 0) return
        return yield* new CommandFailed({
          message: `The schema is not up to date: it lacks ${missing.length} ${missing.length === 1 ? "step" : "steps"}. Make a backup, then run: reins migrate`
        })
      }
      yield* Effect.scoped(
        Layer.build(Layer.provide(Layer.discard(Installation.database(config)), Installation.lock(config)))
      )
      yield* printJson({ event: "migrated", applied: missing, schema: yield* stepsOf(config) })
    })
).pipe(Command.withDescription("Bring the schema of the database up to date without serving"))
