import { cutEnd, cutText } from "@reins/base/base/CutText"
import type { CheckLog, CheckRemark, LogEnd } from "./CheckRun.js"

/** The most characters of a log that are kept, and the most remarks. */
const mostText = 65_536
const mostRemarks = 50
const mostOfRemark = 1_000

// biome-ignore lint/suspicious/noControlCharactersInRegex: terminals speak in these
const sequences = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g
// biome-ignore lint/suspicious/noControlCharactersInRegex: what is not text is left out
const controls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g
/** GitHub and Gitea begin each line with its time. */
const times = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z /gm

/** A log as plain text, without colours, times and what a terminal had overwritten. */
export const plainLog = (log: string): string =>
  log
    .replace(sequences, "")
    .replace(/\r\n/g, "\n")
    .replace(/^.*\r(?=[^\n])/gm, "")
    .replace(controls, "")
    .replace(times, "")

/** The end of a log with its remarks. */
export const checkLogOf = (log: ShownLog | undefined, remarks: ReadonlyArray<CheckRemark>): CheckLog => {
  const { cut, text } = log ?? none
  const plain = plainLog(text)
  const whole = cut ? afterFirstLine(plain) : plain
  return {
    text: tailOf(whole, mostText),
    truncated: cut || plain.length > mostText,
    ...(log?.unshown !== undefined && { unshown: log.unshown }),
    remarks: remarks.slice(0, mostRemarks).map(({ line, message, path }) => ({
      path: cutText(plainLog(path), mostOfRemark),
      line,
      message: cutText(plainLog(message), mostOfRemark)
    }))
  }
}

/** A log as the forge shows it. */
export interface ShownLog extends LogEnd {
  /** Says why it is not shown. */
  readonly unshown?: string
}

const none = { text: "", cut: false }

/** The first line of an end is the rest of one. */
const afterFirstLine = (text: string): string => {
  const line = text.indexOf("\n")
  return line >= 0 && line < text.length / 2 ? text.slice(line + 1) : text
}

/** The end of a text, from the beginning of a line where one is near. */
export const tailOf = (text: string, most: number): string => {
  if (text.length <= most) return text
  const tail = cutEnd(text, most)
  const line = tail.indexOf("\n")
  return line >= 0 && line < most / 2 ? tail.slice(line + 1) : tail
}
