import { Writable } from "node:stream"
import { CommandFailed } from "../CommandFailed.js"
import { hasColors } from "./Style.js"
import { setTypedAside } from "./TypedAhead.js"

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

/** Puts a question to whoever sees it. The library is loaded at the first one. */
const answerTo = async <A>(
  question: (library: Library, output: Writable) => Promise<A | Library["CANCEL_SYMBOL"]>
): Promise<A> => {
  const library = await import("@clack/prompts")
  const answer = (await setTypedAside()) ? await question(library, output()) : library.CANCEL_SYMBOL
  if (library.isCancel(answer)) throw new Aborted({ message: "Nothing more was done." })
  return answer
}

/** Takes a question away. Its answer is then as for Ctrl-C. */
interface Asking {
  readonly signal?: AbortSignal
}

interface Choice {
  readonly value: string
  readonly label: string
  readonly hint?: string
}

const validate = (value: string | undefined) => (value?.trim() ? undefined : "It cannot be empty.")

/** Each asks until there is an answer, and throws `Aborted` for Ctrl-C. */
export const ask = {
  /** `fault` says what is wrong with a text; one that is empty is wrong unless it is given. */
  text: async (
    message: string,
    initialValue = "",
    { fault, signal }: Asking & { readonly fault?: (text: string) => string | undefined } = {}
  ): Promise<string> => {
    const check = fault === undefined ? validate : (text: string | undefined) => fault(text ?? "")
    const given = await answerTo((clack, output) =>
      clack.text({ message, initialValue, validate: check, output, ...(signal && { signal }) })
    )
    return (given ?? "").trim()
  },

  secret: (message: string): Promise<string> =>
    answerTo((clack, output) => clack.password({ message, validate, output })),

  /** One of many, which can be searched by typing. */
  oneOf: (message: string, values: ReadonlyArray<string>): Promise<string> =>
    answerTo((clack, output) =>
      clack.autocomplete({ message, options: values.map((value) => ({ value })), maxItems: 12, output })
    ),

  choice: (
    message: string,
    options: ReadonlyArray<Choice>,
    { initial, signal }: Asking & { readonly initial?: string } = {}
  ): Promise<string> =>
    answerTo((clack, output) =>
      clack.select({
        message,
        options: [...options],
        output,
        maxItems: 12,
        ...(initial !== undefined && { initialValue: initial }),
        ...(signal && { signal })
      })
    ),

  /** Any of several. */
  choices: (
    message: string,
    options: ReadonlyArray<Choice>,
    { initial, signal }: Asking & { readonly initial: ReadonlyArray<string> }
  ): Promise<Array<string>> =>
    answerTo((clack, output) =>
      clack.multiselect({
        message,
        options: [...options],
        initialValues: [...initial],
        required: false,
        output,
        maxItems: 12,
        ...(signal && { signal })
      })
    ),

  confirmation: (message: string, initialValue: boolean, { signal }: Asking = {}): Promise<boolean> =>
    answerTo((clack, output) => clack.confirm({ message, initialValue, output, ...(signal && { signal }) }))
}
