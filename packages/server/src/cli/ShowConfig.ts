import { Command } from "@effect/cli"
import { Effect } from "effect"
import { describe } from "../Config.js"
import { configOf, serverOptions } from "./Settings.js"

export const config = Command.make("config", serverOptions, (options) =>
  Effect.flatMap(configOf(options), (config) =>
    Effect.sync(() => process.stdout.write(`${JSON.stringify(describe(config), null, 2)}\n`))
  )
).pipe(Command.withDescription("Print the configuration in force, secrets masked"))
