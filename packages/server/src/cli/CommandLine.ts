import { Cause, Effect } from "effect"
import { flushLog } from "../LogLines.js"
import { CommandFailed } from "./CommandFailed.js"
import { reasonOfDefect } from "./DefectReason.js"
import { parse, writeHelp } from "./Parser.js"
import { resolve } from "./Resolved.js"
import { tell } from "./terminal/Output.js"

/** The typed words, as something to do. */
const doing = async (typed: ReadonlyArray<string>) => {
  const [first, ...rest] = typed[0] === "-v" ? ["--version", ...typed.slice(1)] : typed
  if (first === "--completions") return (await import("./completions/Completions.js")).completions(rest[0])
  const asksForHelp = first === "help"
  const found = await resolve(asksForHelp || first === undefined ? rest : [first, ...rest])
  const isGroup = found.command.kind === "group" && found.words.length === 0
  if (asksForHelp || isGroup) return Effect.sync(() => writeHelp(found))
  const isAsked = found.words[0] === "--wizard"
  const resolved = isAsked ? { ...found, words: await (await import("./Wizard.js")).askedWords(found) } : found
  const words = parse(resolved)
  return words === undefined || resolved.command.kind === "group" ? Effect.void : resolved.command.doing(words)
}

/**
 * Runs what was typed after `reins`. A failure is told on the standard error before it is given on. A command that has an exit code of its
 * own leaves it in `process.exitCode`.
 */
export const commandLine = (typed: ReadonlyArray<string>) =>
  Effect.flatten(Effect.promise(() => doing(typed).catch(failing))).pipe(
    Effect.tapErrorCause((cause) => (Cause.isInterruptedOnly(cause) ? Effect.void : report(cause)))
  )

/** Words that cannot be taken are a failure, all else that is thrown is a defect. */
const failing = (error: unknown): Effect.Effect<never, CommandFailed> => {
  if (error instanceof CommandFailed) return Effect.fail(error)
  throw error
}

/** Tells a failure that a person can mend in a sentence, and a defect with the place where it happened and what it comes from. */
const report = (cause: Cause.Cause<unknown>) =>
  Effect.gen(function* () {
    const failure = Cause.squash(cause)
    flushLog()
    const isExpected = !Cause.isDie(cause) && failure instanceof Error && failure.message !== ""
    const told = isExpected ? failure.message : yield* reasonOfDefect(cause)
    tell(`reins: ${told ?? Cause.pretty(cause, { renderErrorCause: true }).trimEnd()}`)
  })
