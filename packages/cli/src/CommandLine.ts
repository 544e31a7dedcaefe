import { Cause, Effect } from "effect"
import type { Entry } from "./Command.js"
import { CommandFailed } from "./CommandFailed.js"
import { parse, writeHelp } from "./Parser.js"
import { resolve } from "./Resolved.js"
import { tell } from "./terminal/Output.js"

/** A program with the parts of its own. */
export interface CommandProgram {
  readonly version: string
  readonly commands: ReadonlyArray<Entry>
  /** Runs before a failure is told, so that what was logged stands above it. */
  readonly beforeFailure: () => void
  /** The sentence for a defect that a person can mend; undefined for another one. */
  readonly reasonOf: (cause: Cause.Cause<unknown>) => Effect.Effect<string | undefined>
}

/** The typed words, as something to do. */
const doing = async ({ commands, version }: CommandProgram, given: ReadonlyArray<string>) => {
  const typed = await conversed(commands, given)
  const [first, ...rest] = typed
  if (first === "--version" || first === "-V" || first === "-v")
    return Effect.sync(() => process.stdout.write(`${version}\n`))
  if (first === "--completions") return (await import("./completions/Completions.js")).completions(commands, rest[0])
  const asksForHelp = first === "help"
  const found = await resolve(commands, asksForHelp || first === undefined ? rest : [first, ...rest])
  const isGroup = found.command.kind === "group" && found.words.length === 0
  if (asksForHelp || isGroup) return Effect.sync(() => writeHelp(found))
  const isAsked = found.words[0] === "--wizard"
  const resolved = isAsked ? { ...found, words: await (await import("./Wizard.js")).askedWords(found) } : found
  const words = parse(resolved)
  return words === undefined || resolved.command.kind === "group" ? Effect.void : resolved.command.doing(words)
}

/** Words that go on with a session of the repository of the working directory. */
const goingOn: ReadonlyArray<string | undefined> = ["-c", "--continue", "-r", "--resume"]

/** Nothing typed in a repository, at a terminal of somebody who has a server, is `reins chat`. So are the words that go on with a session. */
const conversed = async (
  commands: ReadonlyArray<Entry>,
  typed: ReadonlyArray<string>
): Promise<ReadonlyArray<string>> => {
  if (!commands.some(({ name }) => name === "chat")) return typed
  if (goingOn.includes(typed[0])) return ["chat", ...typed]
  if (typed.length > 0 || !process.stdin.isTTY || !process.stderr.isTTY || !process.stdout.isTTY) return typed
  return (await import("./client/Opening.js")).canTalkHere() ? ["chat"] : typed
}

/**
 * Runs what was typed after `reins`. A failure is told on the standard error before it is given on. A command that has an exit code of its
 * own leaves it in `process.exitCode`.
 */
export const runCommand = (program: CommandProgram, typed: ReadonlyArray<string>) =>
  Effect.flatten(Effect.promise(() => doing(program, typed).catch(failing))).pipe(
    Effect.tapErrorCause((cause) => (Cause.isInterruptedOnly(cause) ? Effect.void : report(program, cause)))
  )

/** Words that cannot be taken are a failure, all else that is thrown is a defect. */
const failing = (error: unknown): Effect.Effect<never, CommandFailed> => {
  if (error instanceof CommandFailed) return Effect.fail(error)
  throw error
}

/** Tells a failure that a person can mend in a sentence, and a defect with the place where it happened and what it comes from. */
const report = ({ beforeFailure, reasonOf }: CommandProgram, cause: Cause.Cause<unknown>) =>
  Effect.gen(function* () {
    const failure = Cause.squash(cause)
    beforeFailure()
    const isExpected = !Cause.isDie(cause) && failure instanceof Error && failure.message !== ""
    const told = isExpected ? failure.message : yield* reasonOf(cause)
    tell(`reins: ${told ?? Cause.pretty(cause, { renderErrorCause: true }).trimEnd()}`)
  })
