import { Writable } from "node:stream"
import { CommandFailed } from "./CommandFailed.js"
import { hasColors } from "./Style.js"

/** True when somebody is there to ask. Questions go to the standard error, so that the standard output stays what a program reads. */
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

type Library = typeof import("@clack/prompts")

/** Puts a question. The library is loaded at the first one. */
const answerTo = async <A>(
  question: (library: Library, output: Writable) => Promise<A | Library["CANCEL_SYMBOL"]>
): Promise<A> => {
  const library = await import("@clack/prompts")
  const answer = await question(library, output())
  if (library.isCancel(answer)) throw new Aborted({ message: "Nothing more was done." })
  return answer
}

const validate = (value: string | undefined) => (value?.trim() ? undefined : "It cannot be empty.")

/** Each asks until there is an answer, and throws `Aborted` for Ctrl-C. */
export const ask = {
  text: async (message: string, initialValue = ""): Promise<string> =>
    (await answerTo((clack, output) => clack.text({ message, initialValue, validate, output }))).trim(),

  secret: (message: string): Promise<string> =>
    answerTo((clack, output) => clack.password({ message, validate, output })),

  /** One of many, which can be searched by typing. */
  oneOf: (message: string, values: ReadonlyArray<string>): Promise<string> =>
    answerTo((clack, output) =>
      clack.autocomplete({ message, options: values.map((value) => ({ value })), maxItems: 12, output })
    ),

  choice: (
    message: string,
    options: ReadonlyArray<{ readonly value: string; readonly label: string; readonly hint?: string }>,
    signal?: AbortSignal
  ): Promise<string> =>
    answerTo((clack, output) =>
      clack.select({ message, options: [...options], output, maxItems: 12, ...(signal && { signal }) })
    ),

  confirmation: (message: string, initialValue: boolean): Promise<boolean> =>
    answerTo((clack, output) => clack.confirm({ message, initialValue, output }))
}
