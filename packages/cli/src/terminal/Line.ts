import { createInterface, type Key } from "node:readline"
import { painter } from "./Style.js"
import { putTypedBack } from "./TypedAhead.js"

/** The words that can stand in the place of the last one of a line, and that word. */
export type Completed = readonly [words: ReadonlyArray<string>, typed: string]

/** Tells a terminal to mark what is pasted. */
const marksPastes = "\u001b[?2004h"
const marksNothing = "\u001b[?2004l"

/** Reads the messages of a conversation, one after the other. Keys that come between two of them belong to the next one. */
export class MessageReader {
  private readonly history: Array<string> = []
  /** Ctrl-D came together with the end of a message. */
  private isLeft = false

  /** Tab completes the last word of a line by `complete`, which gives undefined where Tab is a character. */
  constructor(
    private readonly prompt: string,
    private readonly complete: (line: string) => Completed | undefined = () => undefined
  ) {}

  /**
   * Reads what a person types, until Enter. A line that ends with a backslash goes on. Lines that come together are one text, and a paste waits
   * for Enter. Undefined for Ctrl-D, and for Ctrl-C where nothing is typed. Other Ctrl-C empties the text.
   */
  readonly next = async (): Promise<string | undefined> => {
    if (this.isLeft) return undefined
    await putTypedBack()
    const text = await this.read()
    if (text?.trim()) this.history.unshift(text.replaceAll("\n", " "))
    return text
  }

  private readonly read = (): Promise<string | undefined> =>
    new Promise((resolve) => {
      const prompt = painter(process.stderr)("bold", this.prompt)
      const { stderr, stdin } = process
      const reader = createInterface({
        input: stdin,
        output: stderr,
        terminal: true,
        prompt,
        completer: (line: string) => {
          const completed = isPasting ? undefined : this.complete(line)
          // The library types what the only word has more than the line.
          return completed === undefined ? [[`${line}\t`], line] : [[...completed[0]], completed[1]]
        },
        history: [...this.history],
        historySize: 200
      })
      let lines: Array<string> = []
      let isPasting = false
      /** Runs when all keys that have come are read, and ends a text that nothing follows. */
      let ending: NodeJS.Immediate | undefined
      const onKey = (_: string | undefined, { name }: Key) => {
        if (name === "paste-start") isPasting = true
        if (name !== "paste-end") return
        isPasting = false
        if (lines.length > 0) goOn()
      }
      const end = (text: string | undefined) => {
        clearImmediate(ending)
        stdin.off("keypress", onKey)
        stderr.write(marksNothing)
        reader.off("close", leave).close()
        resolve(text)
      }
      const leave = () => {
        this.isLeft = true
        end(ending && lines.join("\n"))
      }
      const goOn = () => {
        reader.setPrompt("  ")
        reader.prompt(true)
      }
      reader.on("line", (line) => {
        clearImmediate(ending)
        ending = undefined
        if (isPasting) return void lines.push(line)
        const isOpen = line.endsWith("\\")
        lines.push(isOpen ? line.slice(0, -1) : line)
        if (isOpen) return goOn()
        ending = setImmediate(() => {
          ending = undefined
          if (reader.line === "") end(lines.join("\n"))
          else goOn()
        })
      })
      reader.on("SIGINT", () => {
        if (reader.line === "" && lines.length === 0) return end(undefined)
        clearImmediate(ending)
        ending = undefined
        lines = []
        stderr.write("\n")
        reader.setPrompt(prompt)
        reader.write(null, { ctrl: true, name: "u" })
        reader.prompt()
      })
      reader.on("close", leave)
      stdin.on("keypress", onKey)
      stderr.write(marksPastes)
      reader.prompt()
    })
}
