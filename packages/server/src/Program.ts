import { NodeContext, NodeRuntime } from "@effect/platform-node"
import { tell } from "@reins/cli/terminal/Output"
import { hasColors } from "@reins/cli/terminal/Style"
import { Cause, Console, Effect, Exit, Layer, Logger } from "effect"
import { commandLine } from "./cli/CommandLine.js"
import { jsonLines, terminalConsole } from "./LogLines.js"
import { stopDeadlineMs } from "./StopDeadline.js"

const typed = process.argv.slice(2)

const colors = hasColors(process.stderr)

/** Logs go to the standard error: lines of JSON for a program, words for a person. */
const logger = Logger.replace(
  Logger.defaultLogger,
  process.stderr.isTTY ? Logger.prettyLogger({ stderr: true, colors }) : jsonLines
)

/** The logger for a person writes by the console of the program. */
const withLogConsole = <A, E, R>(program: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  process.stderr.isTTY
    ? Console.consoleWith((console) => Effect.withConsole(program, { ...console, unsafe: terminalConsole(colors) }))
    : program

/** Of all commands, the service alone has more to do than to write its output. */
const isService = typed[0] === "serve"

/** The status of a command whose output could not be written; undefined for one that could write it. */
let unwritten: number | undefined

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
      setTimeout(() => process.exit(unwritten ?? (isService ? 0 : 128 + number)), stopDeadlineMs()).unref()
    } else if (performance.now() - stoppingSince > sameWishMs) process.exit(128 + number)
  })
}

/** The status of a program that SIGPIPE has ended, which is what shells expect when the reader of an output stops early, as `head` does. */
const readerGone = 128 + 13

process.stdout.on("error", ({ code, message }: NodeJS.ErrnoException) => {
  if (isService || unwritten !== undefined) return
  unwritten = code === "EPIPE" ? readerGone : 1
  if (code !== "EPIPE") tell(`reins: The output could not be written: ${message}`)
  // The command ends the servers and agents that it has started, and removes files that are half written.
  process.emit("SIGTERM", "SIGTERM")
})

// A command goes on when nobody reads its standard error.
process.stderr.on("error", () => undefined)

// A terminal that is closed ends its service in order. Under nohup, which leaves no terminal to a service, a hangup means nothing.
if (isService)
  process.on("SIGHUP", () => {
    if ([process.stdin, process.stdout, process.stderr].some(({ isTTY }) => isTTY)) process.emit("SIGTERM", "SIGTERM")
  })

/** A service that was told to stop has done what it was told; another command that was stopped has not. */
const exitCodeOf = (exit: Exit.Exit<unknown, unknown>): number => {
  if (unwritten !== undefined) return unwritten
  if (Exit.isSuccess(exit)) return Number(process.exitCode ?? 0)
  if (!Cause.isInterruptedOnly(exit.cause)) return 1
  return isService || stoppedBy === 0 ? 0 : 128 + stoppedBy
}

commandLine(typed).pipe(
  Effect.provide(Layer.merge(NodeContext.layer, logger)),
  withLogConsole,
  Effect.withTracerEnabled(false),
  NodeRuntime.runMain({
    disableErrorReporting: true,
    disablePrettyLogger: true,
    // The system's answer to the last write comes a turn of the loop later.
    teardown: (exit, end) => void setImmediate(() => end(exitCodeOf(exit)))
  })
)
