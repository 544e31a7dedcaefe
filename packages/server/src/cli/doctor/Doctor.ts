import { command, flag } from "@reins/cli/Command"
import { CommandFailed } from "@reins/cli/CommandFailed"
import { printJson } from "@reins/cli/terminal/Output"
import { Effect } from "effect"
import { configOf, serverOptions } from "../operator/Settings.js"
import type { Finding } from "./Finding.js"
import { findings } from "./Findings.js"

/** `reins doctor` */
export const doctor = command({
  takes: {
    readBlobs: flag("read-blobs", "Read every blob that a snapshot needs, and check its digest"),
    json: flag("json", "Print one line of JSON instead of text"),
    ...serverOptions
  },
  details: "It changes nothing. Exits with 1 when a check fails.",
  examples: [
    ["reins doctor", "Check the installation in the working directory"],
    ["reins doctor --json --data-dir /var/lib/reins", "Check another one, for a program"]
  ],
  run: ({ json, readBlobs, ...options }) =>
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
})

const lineOf = ({ check, detail, state, todo }: Finding): string =>
  `${state.padEnd(5)} ${check.padEnd(12)} ${detail}\n${todo === null ? "" : `${" ".repeat(19)}-> ${todo}\n`}`
