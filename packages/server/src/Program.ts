import { Command, ValidationError } from "@effect/cli"
import { NodeContext, NodeRuntime } from "@effect/platform-node"
import { Cause, Effect, Exit, Layer, Logger } from "effect"
import packageJson from "../package.json" with { type: "json" }
import { withPlainConsole } from "./cli/PlainConsole.js"
import { flushLog, jsonLines } from "./LogLines.js"

/** What was typed, with the short ways to ask for help and for the version in the words of the library. */
const words = ((): ReadonlyArray<string> => {
  const [first, ...rest] = process.argv.slice(2)
  if (first === undefined) return ["--help"]
  if (first === "help") return [...rest, "--help"]
  return first === "-v" || first === "-V" ? ["--version"] : [first, ...rest]
})()
const called = words[0] ?? ""

/** Each command brings the code that it needs, so only the called one is loaded. Of the others the names are enough. */
const commands = {
  serve: async () => (await import("./cli/Serve.js")).serve,
  init: async () => (await import("./cli/Init.js")).init,
  run: async () => (await import("./cli/Run.js")).run,
  sessions: async () => (await import("./cli/Sessions.js")).sessions,
  accounts: async () => (await import("./cli/Accounts.js")).accounts,
  keys: async () => (await import("./cli/Keys.js")).keys,
  harnesses: async () => (await import("./cli/Harnesses.js")).harnesses,
  backup: async () => (await import("./cli/Backup.js")).backup,
  restore: async () => (await import("./cli/Backup.js")).restore,
  migrate: async () => (await import("./cli/Migrate.js")).migrate,
  keyring: async () => (await import("./cli/KeyRing.js")).keyring,
  doctor: async () => (await import("./cli/Doctor.js")).doctor,
  config: async () => (await import("./cli/ShowConfig.js")).config
}

/** In the order of the help, which shows all of them whole, as completions do. */
const subcommands = () => {
  const isKnown = Object.hasOwn(commands, called)
  const { serve, ...others } = commands
  const load = async <C>(name: string, command: () => Promise<C>) =>
    isKnown && name !== called ? Command.make(name) : await command()
  return Promise.all([
    load("serve", serve),
    ...Object.entries(others).map(([name, command]) => load<Awaited<ReturnType<typeof command>>>(name, command))
  ])
}

const reins = Effect.map(Effect.promise(subcommands), (loaded) =>
  Command.make("reins").pipe(Command.withDescription("One API for every coding agent"), Command.withSubcommands(loaded))
)

/** Logs go to the standard error, so that the standard output is for programs: lines of JSON, or colours for a person. */
const logger = Logger.replace(
  Logger.defaultLogger,
  process.stderr.isTTY ? Logger.prettyLogger({ stderr: true }) : jsonLines
)

/** Reports a failure that a person can mend in a sentence, and a defect with the place where it happened. */
const report = (cause: Cause.Cause<unknown>) =>
  Effect.sync(() => {
    const failure = Cause.squash(cause)
    if (ValidationError.isValidationError(failure)) return
    flushLog()
    const isExpected = !Cause.isDie(cause) && failure instanceof Error && failure.message !== ""
    const told = isExpected ? failure.message : Cause.pretty(cause, { renderErrorCause: true })
    process.stderr.write(`reins: ${told === "" ? "It ended without a word on why." : told}\n`)
  })

/** The first signal ends the service in order, within this time; a second one ends it at once. */
const deadlineMs = 9500
/** One Ctrl-C comes twice, from the terminal and from npm, which passes it on. Within this time both are one wish. */
const sameWishMs = 1000

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
      setTimeout(() => process.exit(0), deadlineMs).unref()
    } else if (performance.now() - stoppingSince > sameWishMs) process.exit(128 + number)
  })
}

/** A service that was told to stop has done what it was told; another command that was stopped has not. */
const exitCodeOf = (exit: Exit.Exit<unknown, unknown>): number => {
  if (Exit.isSuccess(exit)) return Number(process.exitCode ?? 0)
  if (!Cause.isInterruptedOnly(exit.cause)) return 1
  return called === "serve" || stoppedBy === 0 ? 0 : 128 + stoppedBy
}

Effect.flatMap(reins, (command) =>
  Command.run(command, { name: "reins", version: packageJson.version })([...process.argv.slice(0, 2), ...words])
).pipe(
  withPlainConsole,
  Effect.tapErrorCause((cause) => (Cause.isInterruptedOnly(cause) ? Effect.void : report(cause))),
  Effect.provide(Layer.merge(NodeContext.layer, logger)),
  Effect.withTracerEnabled(false),
  NodeRuntime.runMain({
    disableErrorReporting: true,
    disablePrettyLogger: true,
    teardown: (exit, end) => end(exitCodeOf(exit))
  })
)
