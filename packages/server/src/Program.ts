import { Command, ValidationError } from "@effect/cli"
import { NodeContext, NodeRuntime } from "@effect/platform-node"
import { Cause, Effect, Layer, Logger } from "effect"
import packageJson from "../package.json" with { type: "json" }
import { flushLog, jsonLines } from "./LogLines.js"

const called = process.argv[2] ?? "serve"

/** The commands. Only the code of the called command is loaded, so the names of the others have to be enough. */
const commands = {
  serve: async () => (await import("./cli/Serve.js")).serve,
  accounts: async () => (await import("./cli/Accounts.js")).accounts,
  keys: async () => (await import("./cli/Accounts.js")).keys,
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
  Command.make("reins", {}, () =>
    Effect.flatMap(
      Effect.promise(() => import("./cli/Serve.js")),
      ({ serveWithDefaults }) => serveWithDefaults
    )
  ).pipe(Command.withDescription("One API for every coding agent"), Command.withSubcommands(loaded))
)

/** Logs go to the standard error, so that the standard output is for programs: lines of JSON, or colours for a person. */
const logger = Logger.replace(
  Logger.defaultLogger,
  process.stderr.isTTY ? Logger.prettyLogger({ stderr: true }) : jsonLines
)

/** Reports a failure that a person can mend as a sentence, and a defect with its place in the code. */
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
/** The time in which two signals count as one, because npm passes on the Ctrl-C that the terminal has already sent. */
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

Effect.flatMap(reins, (command) =>
  Command.run(command, { name: "reins", version: packageJson.version })(process.argv)
).pipe(
  Effect.tapErrorCause((cause) => (Cause.isInterruptedOnly(cause) ? Effect.void : report(cause))),
  Effect.provide(Layer.merge(NodeContext.layer, logger)),
  Effect.withTracerEnabled(false),
  NodeRuntime.runMain({ disableErrorReporting: true, disablePrettyLogger: true })
)
