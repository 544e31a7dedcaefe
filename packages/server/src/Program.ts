import { NodeContext, NodeRuntime } from "@effect/platform-node"
import { Cause, Effect, Exit, Layer, Logger } from "effect"
import { commandLine } from "./cli/CommandLine.js"
import { hasColors } from "./cli/terminal/Style.js"
import { jsonLines } from "./LogLines.js"
import { stopDeadlineMs } from "./StopDeadline.js"

const typed = process.argv.slice(2)

/** Logs go to the standard error: lines of JSON for a program, words for a person. */
const logger = Logger.replace(
  Logger.defaultLogger,
  process.stderr.isTTY ? Logger.prettyLogger({ stderr: true, colors: hasColors(process.stderr) }) : jsonLines
)

/** The time in which two signals count as one, because npm passes on the Ctrl-C that the terminal has already sent. */
const sameWishMs = 1000

/** The first signal ends the service in order, and a second one ends it at once. */
let stoppingSince: number | undefined
let stoppedBy = 0
for (const [signal, number] of [
  ["SIGINT", 2],
  ["SIGTERM", 15]
] as const) {
  process.on(signal, () => {
    if (stoppingSince === undefined) {
      stoppingSince = performance.now()
      stoppedBy = number
      setTimeout(() => process.exit(0), stopDeadlineMs()).unref()
    } else if (performance.now() - stoppingSince > sameWishMs) process.exit(128 + number)
  })
}

// A reader of the output may stop early, as `head` does.
process.stdout.on("error", () => process.exit(1))

/** A service that was told to stop has done what it was told; another command that was stopped has not. */
const exitCodeOf = (exit: Exit.Exit<unknown, unknown>): number => {
  if (Exit.isSuccess(exit)) return Number(process.exitCode ?? 0)
  if (!Cause.isInterruptedOnly(exit.cause)) return 1
  return typed[0] === "serve" || stoppedBy === 0 ? 0 : 128 + stoppedBy
}

commandLine(typed).pipe(
  Effect.provide(Layer.merge(NodeContext.layer, logger)),
  Effect.withTracerEnabled(false),
  NodeRuntime.runMain({
    disableErrorReporting: true,
    disablePrettyLogger: true,
    teardown: (exit, end) => end(exitCodeOf(exit))
  })
)
