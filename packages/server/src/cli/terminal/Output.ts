import { Effect } from "effect"

/** Prints one line of JSON on the standard output, for programs. */
export const printJson = (value: unknown): Effect.Effect<void> => Effect.sync(() => printJsonNow(value))

/** `printJson` at once, for what is no effect. */
export const printJsonNow = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value)}\n`)

/** Prints a line on the standard error, for a person. */
export const tell = (line: string): void => void process.stderr.write(`${line}\n`)
