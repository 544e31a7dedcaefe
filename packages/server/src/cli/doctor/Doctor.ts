import { Command, Options } from "@effect/cli"
import { Effect } from "effect"
import { CommandFailed } from "../CommandFailed.js"
import { configOf, serverOptions } from "../operator/Settings.js"
import { printJson } from "../terminal/Output.js"
import type { Finding } from "./Finding.js"
import { findings } from "./Findings.js"

/** `reins doctor` */
export const doctor = Command.make(
  "doctor",
  {
    ...serverOptions,
    readBlobs: Options.boolean("read-blobs").pipe(
      Options.withDescription(
        "Read every blob that a snapshot needs, and compare it with its digest, which takes its time"
      )
    ),
    json: Options.boolean("json").pipe(Options.withDescription("Print one line of JSON instead of text"))
  },
  ({ json, readBlobs, ...options }) =>
    Effect.gen(function* () {
      const config = yield* configOf(options)
      const found = yield* findings(config, { readBlobs })
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
