import { Command, Options } from "@effect/cli"
import { Effect } from "effect"
import { CommandFailed } from "./Accounts.js"
import { type Finding, findings } from "./Findings.js"
import { printJson } from "./Output.js"
import { configOf, serverOptions } from "./Settings.js"

export const doctor = Command.make(
  "doctor",
  {
    ...serverOptions,
    json: Options.boolean("json").pipe(Options.withDescription("One line of JSON in the place of text"))
  },
  ({ json, ...options }) =>
    Effect.gen(function* () {
      const config = yield* configOf(options)
      const found = yield* findings(config)
      const failed = found.filter(({ state }) => state === "fail").map(({ check }) => check)
      if (json) yield* printJson({ event: "doctor", ok: failed.length === 0, checks: found })
      else yield* Effect.sync(() => void process.stdout.write(found.map(lineOf).join("")))
      if (failed.length > 0) return yield* new CommandFailed({ message: `Not as it has to be: ${failed.join(", ")}.` })
    })
).pipe(Command.withDescription("Check that the installation can serve; changes nothing"))

const lineOf = ({ check, detail, state, todo }: Finding): string =>
  `${state.padEnd(5)} ${check.padEnd(12)} ${detail}\n${todo === null ? "" : `${" ".repeat(19)}-> ${todo}\n`}`
