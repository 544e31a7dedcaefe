import { Command, Options } from "@effect/cli"
import { Effect } from "effect"
import { CommandFailed } from "./CommandFailed.js"
import type { Finding } from "./Finding.js"
import { findings } from "./Findings.js"
import { printJson } from "./Output.js"
import { configOf, serverOptions } from "./Settings.js"

/** `reins doctor` */
export const doctor = Command.make(
  "doctor",
  {
    ...serverOptions,
    json: Options.boolean("json").pipe(Options.withDescription("Print one line of JSON instead of text"))
  },
  ({ json, ...options }) =>
    Effect.gen(function* () {
      const config = yield* configOf(options)
      const found = yield* findings(config)
      const failed = found.filter(({ state }) => state === "fail").map(({ check }) => check)
      if (json) yield* printJson({ event: "doctor", ok: failed.length === 0, checks: found })
      else yield* Effect.sync(() => void process.stdout.write(found.map(lineOf).join("")))
      if (failed.length > 0)
        return yield* new CommandFailed({
          message: `These checks failed: ${failed.join(", ")}. Do what is said beside each, then run this again.`
        })
    })
).pipe(Command.withDescription("Check that the installation can serve, without changing anything"))

const lineOf = ({ check, detail, state, todo }: Finding): string =>
  `${state.padEnd(5)} ${check.padEnd(12)} ${detail}\n${todo === null ? "" : `${" ".repeat(19)}-> ${todo}\n`}`
