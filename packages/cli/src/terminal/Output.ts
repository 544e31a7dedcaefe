import { Effect } from "effect"
import { harmlessJson, harmlessLine } from "./Style.js"

/** Prints one line of JSON on the standard output, for programs. */
export const printJson = (value: unknown): Effect.Effect<void> => Effect.sync(() => printJsonNow(value))

/** `printJson` at once, for what is no effect. */
export const printJsonNow = (value: unknown): void => void process.stdout.write(`${harmlessJson(value)}\n`)

/** Prints a line on the standard error, for a person. A terminal obeys nothing in it but our styles. */
export const tell = (line: string): void => void process.stderr.write(`${harmlessLine(line)}\n`)
