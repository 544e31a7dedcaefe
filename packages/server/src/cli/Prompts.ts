import { Writable } from "node:stream"
import { stripVTControlCharacters } from "node:util"
import * as clack from "@clack/prompts"
import ora from "ora"
import { CommandFailed } from "./Accounts.js"
import { hasColors } from "./Style.js"

/** Whether somebody is there to ask. Questions go to the standard error, so that the standard output stays what a program reads. */
export const isInteractive = (): boolean => process.stdin.isTTY === true && process.stderr.isTTY === true

/** The person has pressed Ctrl-C in the place of an answer. */
export class Aborted extends CommandFailed {}

/** The library always colours. Where colours are not wanted they are taken out; what moves the cursor stays. */
class WithoutColors extends Writable {
  readonly isTTY = true
  get columns() {
    return process.stderr.columns
  }
  get rows() {
    return process.stderr.rows
  }
  override _write(chunk: unknown, _: BufferEncoding, done: () => void) {
    process.stderr.write(String(chunk).replaceAll(styles, ""))
    done()
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: it is how a terminal is told of a style
const styles = /\u001b\[[\d;]*m/g

const output = (): Writable => (hasColors(process.stderr) ? process.stderr : new WithoutColors())

const answered = <A>(answer: A | typeof clack.CANCEL_SYMBOL): A => {
  if (answer === clack.CANCEL_SYMBOL) throw new Aborted({ message: "Nothing more was done." })
  return answer
}

const required = (value: string | undefined) => (value?.trim() ? undefined : "It cannot be empty.")

/** Each asks until there is an answer, and throws `Aborted` for Ctrl-C. */
export const ask = {
  text: async (message: string, initialValue = ""): Promise<string> =>
    answered(await clack.text({ message, initialValue, validate: required, output: output() })).trim(),

  secret: async (message: string): Promise<string> =>
    answered(await clack.password({ message, validate: required, output: output() })),

  /** One of many, which can be searched by typing. */
  oneOf: async (message: string, values: ReadonlyArray<string>): Promise<string> =>
    answered(
      await clack.autocomplete({ message, options: values.map((value) => ({ value })), maxItems: 12, output: output() })
    ),

  choice: async (
    message: string,
    options: ReadonlyArray<{ readonly value: string; readonly label: string; readonly hint?: string }>,
    signal?: AbortSignal
  ): Promise<string> =>
    answered(
      await clack.select({ message, options: [...options], output: output(), maxItems: 12, ...(signal && { signal }) })
    ),

  confirmation: async (message: string, initialValue: boolean): Promise<boolean> =>
    answered(await clack.confirm({ message, initialValue, output: output() }))
}

/** What takes long, told while it does. */
export interface Progress {
  /** What is being done now, with the part of it that is done, from 0 to 1, where that is known. */
  readonly say: (text: string, share?: number) => void
  /** Takes the line away, so that others may write. */
  readonly clear: () => void
  readonly isShown: () => boolean
}

/** One line at the bottom of a terminal. Elsewhere nothing: what was done is told when it is done. */
export const progress = (): Progress => {
  // The library divides by the width, and a terminal may say that it is 0.
  if (process.stderr.isTTY !== true || process.stderr.columns === 0)
    return { say: () => undefined, clear: () => undefined, isShown: () => false }
  // It leaves the keyboard and the signals alone: Ctrl-C is the command's to deal with.
  const spinner = ora({
    stream: process.stderr,
    color: hasColors(process.stderr) ? "cyan" : false,
    discardStdin: false,
    hideCursor: false
  })
  return {
    say: (text, share) => {
      const line = stripVTControlCharacters(share === undefined ? text : `${bar(share)} ${text}`)
      if (spinner.isSpinning) spinner.text = line
      else spinner.start(line)
    },
    clear: () => {
      // It moves the cursor even where it has written nothing.
      if (spinner.isSpinning) spinner.stop()
    },
    isShown: () => spinner.isSpinning
  }
}

const barWidth = 20

const bar = (share: number): string => {
  const done = Math.round(Math.min(1, Math.max(0, share)) * barWidth)
  return `[${"#".repeat(done)}${"-".repeat(barWidth - done)}]`
}
