import { stripVTControlCharacters } from "node:util"
import ora from "ora"
import { tell } from "./Output.js"
import { hasColors } from "./Style.js"

/** Tells of long work while it goes on. */
export interface Progress {
  /** Tells of the present step. `share` is the part of it that is done, from 0 to 1, and draws a bar. */
  readonly say: (text: string, share?: number) => void
  /** Takes the line away, so that others may write. */
  readonly clear: () => void
}

/** One line at the bottom of a terminal. Elsewhere nothing: what was done is told when it is done. */
export const progress = (): Progress => {
  // The library divides by the width, and a terminal may say that it is 0.
  if (process.stderr.isTTY !== true || process.stderr.columns === 0)
    return { say: () => undefined, clear: () => undefined }
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
    }
  }
}

/** The steps of what takes long: the present one on a terminal, a line for each elsewhere. */
export const steps = (): Progress => {
  const { clear, say } = progress()
  return { clear, say: process.stderr.isTTY === true ? say : (text) => tell(text) }
}

const barWidth = 20

const bar = (share: number): string => {
  const done = Math.round(Math.min(1, Math.max(0, share)) * barWidth)
  return `[${"#".repeat(done)}${"-".repeat(barWidth - done)}]`
}
