import { CliConfig, Command, ValidationError } from "@effect/cli"
import { Cause, Effect } from "effect"
import packageJson from "../../package.json" with { type: "json" }
import { flushLog } from "../LogLines.js"
import { reasonOfDefect } from "./DefectReason.js"
import { tell } from "./terminal/Output.js"
import { withPlainConsole } from "./terminal/PlainConsole.js"

/** Each command brings the code that it needs, so only the called one is loaded. The help shows them in this order. */
const commands = {
  serve: async () => (await import("./operator/Serve.js")).serve,
  init: async () => (await import("./init/Init.js")).init,
  run: async () => (await import("./client/Run.js")).run,
  sessions: async () => (await import("./client/Sessions.js")).sessions,
  budget: async () => (await import("./client/Budgets.js")).budget,
  webhooks: async () => (await import("./client/Webhooks.js")).webhooks,
  accounts: async () => (await import("./operator/Accounts.js")).accounts,
  keys: async () => (await import("./client/Keys.js")).keys,
  harnesses: async () => (await import("./harnesses/Harnesses.js")).harnesses,
  backup: async () => (await import("./operator/Backup.js")).backup,
  restore: async () => (await import("./operator/Backup.js")).restore,
  migrate: async () => (await import("./operator/Migrate.js")).migrate,
  node: async () => (await import("./operator/Node.js")).node,
  keyring: async () => (await import("./operator/KeyRing.js")).keyring,
  doctor: async () => (await import("./doctor/Doctor.js")).doctor,
  config: async () => (await import("./operator/ShowConfig.js")).config
}

/** Loads the command that is called. Of the others the names are enough; the help and completions, which call none, show all of them whole. */
const subcommands = (called: string) => {
  const isKnown = Object.hasOwn(commands, called)
  const { serve, ...others } = commands
  const load = async <C>(name: string, command: () => Promise<C>) =>
    isKnown && name !== called ? Command.make(name) : await command()
  return Promise.all([
    load("serve", serve),
    ...Object.entries(others).map(([name, command]) => load<Awaited<ReturnType<typeof command>>>(name, command))
  ])
}

/** `reins` with the subcommand that is called; with all of them when that is none of them. */
export const reins = (called = "") =>
  Effect.map(
    Effect.promise(() => subcommands(called)),
    (loaded) =>
      Command.make("reins").pipe(
        Command.withDescription("One API for every coding agent. `reins help <command>` shows what a command takes"),
        Command.withSubcommands(loaded)
      )
  )

/** Help without the options that every command has. */
const shortHelp = CliConfig.layer({ showBuiltIns: false })

/** The short ways to ask for help and for the version, in the words of the library. */
const spelledOut = ([first, ...rest]: ReadonlyArray<string>): ReadonlyArray<string> => {
  if (first === undefined) return ["--help"]
  if (first === "help") return [...rest, "--help"]
  return first === "-v" || first === "-V" ? ["--version"] : [first, ...rest]
}

/**
 * Runs what was typed after `reins`. A failure is told on the standard error before it is given on. A command that has an exit code of its
 * own leaves it in `process.exitCode`.
 */
export const commandLine = (typed: ReadonlyArray<string>) => {
  const words = spelledOut(typed)
  return Effect.flatMap(reins(words[0]), (command) =>
    // The library skips the two words with which Node begins: its own path and that of the program.
    Command.run(command, { name: "reins", version: packageJson.version })(["node", "reins", ...words])
  ).pipe(
    withPlainConsole,
    Effect.provide(shortHelp),
    Effect.tapErrorCause((cause) => (Cause.isInterruptedOnly(cause) ? Effect.void : report(cause)))
  )
}

/** Tells a failure that a person can mend in a sentence, and a defect with the place where it happened and what it comes from. */
const report = (cause: Cause.Cause<unknown>) =>
  Effect.gen(function* () {
    const failure = Cause.squash(cause)
    // The library has told it.
    if (ValidationError.isValidationError(failure)) return
    flushLog()
    const isExpected = !Cause.isDie(cause) && failure instanceof Error && failure.message !== ""
    const told = isExpected ? failure.message : yield* reasonOfDefect(cause)
    tell(`reins: ${told ?? Cause.pretty(cause, { renderErrorCause: true }).trimEnd()}`)
  })
