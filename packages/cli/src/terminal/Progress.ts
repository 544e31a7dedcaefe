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

/** The seconds after which a step says how long it takes. */
const shownAfter = 2

/** `progress` whose step says how many seconds it takes, so that a person sees that it lives. */
export const liveProgress = (): Progress => {
  const { clear, say } = progress()
  let step = ""
  let sinceMs = 0
  let ticking: NodeJS.Timeout | undefined
  const show = () => {
    const seconds = Math.floor((performance.now() - sinceMs) / 1000)
    say(seconds < shownAfter ? step : `${step} ${inSeconds(seconds)}`)
  }
  return {
    say: (text) => {
      if (text !== step) sinceMs = performance.now()
      step = text
      show()
      ticking ??= setInterval(show, 1000).unref()
    },
    clear: () => {
      clearInterval(ticking)
      ticking = undefined
      step = ""
      clear()
    }
  }
}

/** A time as people say it: `4 s`, `2 min 5 s`. */
export const inSeconds = (seconds: number): string =>
  seconds < 60 ? `${Math.floor(seconds)} s` : `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`

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
