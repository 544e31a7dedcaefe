import { createInterface } from "node:readline"
import { painter } from "./Style.js"

/**
 * Reads what a person types, until Enter. A line that ends with a backslash goes on, and lines that are pasted together are one text. Undefined
 * for Ctrl-D, and for Ctrl-C where nothing is typed. Other Ctrl-C empties the line. `history` grows by what was typed.
 */
export const readMessage = (prompt: string, history: Array<string>): Promise<string | undefined> =>
  new Promise((resolve) => {
    const paint = painter(process.stderr)
    const reader = createInterface({
      input: process.stdin,
      output: process.stderr,
      terminal: true,
      prompt: paint("bold", prompt),
      history: [...history],
      historySize: 200
    })
    let lines: Array<string> = []
    let isEnding = false
    const end = (text: string | undefined) => {
      reader.close()
      if (text?.trim()) history.unshift(text.replaceAll("\n", " "))
      resolve(text)
    }
    reader.on("line", (line) => {
      lines.push(line.replace(/\\$/, ""))
      if (line.endsWith("\\")) {
        reader.setPrompt("  ")
        return reader.prompt()
      }
      if (isEnding) return
      isEnding = true
      // Those of one paste come together.
      setImmediate(() => end(lines.join("\n")))
    })
    reader.on("SIGINT", () => {
      if (reader.line === "" && lines.length === 0) return end(undefined)
      lines = []
      process.stderr.write("\n")
      reader.setPrompt(paint("bold", prompt))
      reader.write(null, { ctrl: true, name: "u" })
      reader.prompt()
    })
    reader.once("close", () => {
      if (!isEnding) resolve(undefined)
    })
    reader.prompt()
  })
