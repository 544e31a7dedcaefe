#!/usr/bin/env node
import { Command, ValidationError } from "@effect/cli"
import { NodeContext, NodeRuntime } from "@effect/platform-node"
import { Cause, Effect, Layer, Logger } from "effect"
import packageJson from "../package.json" with { type: "json" }
import { accounts, keys } from "./cli/Accounts.js"
import { backup, restore } from "./cli/Backup.js"
import { doctor } from "./cli/Doctor.js"
import { harnesses } from "./cli/Harnesses.js"
import { keyring } from "./cli/KeyRing.js"
import { migrate } from "./cli/Migrate.js"
import { serve, serveWithDefaults } from "./cli/Serve.js"
import { config } from "./cli/ShowConfig.js"
import { flushLog, jsonLines } from "./LogLines.js"

const reins = Command.make("reins", {}, () => serveWithDefaults).pipe(
  Command.withDescription("One API for every coding agent"),
  Command.withSubcommands([serve, accounts, keys, harnesses, backup, restore, migrate, keyring, doctor, config])
)

const cli = Command.run(reins, { name: "reins", version: packageJson.version })

/** Logs go to the standard error, so that the standard output is for programs: lines of JSON, or colours for a person. */
const logger = Logger.replace(
  Logger.defaultLogger,
  process.stderr.isTTY ? Logger.prettyLogger({ stderr: true }) : jsonLines
)

/** What a person can mend is said in a sentence; the rest is a defect, with where it happened. */
const report = (cause: Cause.Cause<unknown>) =>
  Effect.sync(() => {
    const failure = Cause.squash(cause)
    if (ValidationError.isValidationError(failure)) return
    flushLog()
    const isExpected = !Cause.isDie(cause) && failure instanceof Error
    process.stderr.write(`reins: ${isExpected ? failure.message : Cause.pretty(cause)}\n`)
  })

/** The first signal ends the service in order, within this time; a second one ends it at once. */
const deadlineMs = 9500
/** One Ctrl-C comes from the terminal and from npm, which passes it on: that is one wish. */
const sameWishMs = 1000

let stoppingSince: number | undefined
for (const [signal, number] of [
  ["SIGINT", 2],
  ["SIGTERM", 15]
] as const) {
  process.on(signal, () => {
    if (stoppingSince === undefined) {
      stoppingSince = performance.now()
      setTimeout(() => process.exit(0), deadlineMs).unref()
    } else if (performance.now() - stoppingSince > sameWishMs) process.exit(128 + number)
  })
}

cli(process.argv).pipe(
  Effect.tapErrorCause((cause) => (Cause.isInterruptedOnly(cause) ? Effect.void : report(cause))),
  Effect.provide(Layer.merge(NodeContext.layer, logger)),
  Effect.withTracerEnabled(false),
  NodeRuntime.runMain({ disableErrorReporting: true, disablePrettyLogger: true })
)
