import { Effect } from "effect"

/** One line of JSON on the standard output, for programs. */
export const printJson = (value: unknown): Effect.Effect<void> =>
  Effect.sync(() => void process.stdout.write(`${JSON.stringify(value)}\n`))

/** A line for a person, on the standard error. */
export const tell = (line: string): void => void process.stderr.write(`${line}\n`)
