import type { ApprovalSubject, SubjectEdit } from "./generated/Resources.js"
import { escapeUnseen } from "./UnseenCharacters.js"

/** The longest name of a tool or a file that is shown, in characters. */
const longestName = 200

/** A name of others on one line of at most 200 characters. Its middle gives way, and characters that hide something are escaped. */
export const shownName = (name: string): string => {
  const line = escapeUnseen(name).replaceAll(/\s+/g, " ").trim()
  const half = (longestName - 1) / 2
  return line.length <= longestName ? line : `${line.slice(0, half)}…${line.slice(-half)}`
}

const gapWords: Readonly<Record<ApprovalSubject["gaps"][number], string>> = {
  cut: "it is too long to be shown whole",
  masked: "something in it looks like a secret and is blanked",
  outside: "a path leads out of the files of the session",
  unknown: "the agent has not told all of it",
  unplaced: "the place of a change in its file is not known"
}

/** Said of an approval whose agent told nothing but a title. */
export const nothingTold = "The agent says no more about it than this title."

/** Says what is missing of a subject; undefined for one that is complete. */
export const gapSentence = ({ command, complete, edits, gaps, input, url }: ApprovalSubject): string | undefined => {
  if (complete) return undefined
  if (command === null && input === null && url === null && edits.length === 0) return nothingTold
  return `Not all of it can be shown: ${gaps.map((gap) => gapWords[gap] ?? gap).join("; ")}.`
}

/** A line of a change: `+` for one that comes, `-` for one that goes, and a space for one that stays. */
export interface ChangedLine {
  /** Tells whether the line stays, comes or goes. */
  readonly sign: " " | "+" | "-"
  /** Its number, after the change for a line that comes, and before it for others; null where the place is not known. */
  readonly number: number | null
  /** The line without its end, as the agent has sent it. */
  readonly text: string
}

/** The lines of a change, with those around it. Lines that both sides share in the middle of a change go and come again. */
export const changedLines = ({ line, new_text, old_text }: SubjectEdit): ReadonlyArray<ChangedLine> => {
  const [old, now] = [linesOf(old_text), linesOf(new_text)]
  const least = Math.min(old.length, now.length)
  let same = 0
  while (same < least && old[same] === now[same]) same += 1
  let end = 0
  while (end < least - same && old.at(-1 - end) === now.at(-1 - end)) end += 1
  const at = (index: number) => (line === null ? null : line + index)
  const part = (lines: ReadonlyArray<string>, sign: ChangedLine["sign"], from: number, to: number) =>
    lines.slice(from, to).map((text, index) => ({ sign, number: at(from + index), text: text.replace(/\r?\n$/, "") }))
  return [
    ...part(old, " ", 0, same),
    ...part(old, "-", same, old.length - end),
    ...part(now, "+", same, now.length - end),
    ...part(now, " ", now.length - end, now.length)
  ]
}

const linesOf = (text: string | null): ReadonlyArray<string> =>
  text === null || text === "" ? [] : text.split(/(?<=\n)/)

/** The heading of a change: what happens to the file, and at which line. */
export const editHeading = ({ line, new_text, old_text, path }: SubjectEdit): string => {
  const name = shownName(path)
  if (new_text === null) return `Deletion of ${name}`
  if (old_text === null) return line === null ? `New text of ${name}` : `New file ${name}`
  if (line === null) return `Change of ${name}, at a place that is not known`
  return line === 1 ? `Change of ${name}` : `Change of ${name} from line ${line} on`
}

/**
 * The subject of an approval as lines, for a reader without a page: the command, the address, and the changes of files with `+` and `-`. Every other value
 * has its name before it. The last line says what is missing. Characters that hide something are escaped.
 */
export const subjectText = (subject: ApprovalSubject): string => {
  const { command, cwd, edits, input, tool, url } = subject
  const gap = gapSentence(subject)
  const lines = [
    ...(command === null ? [] : [`$ ${command.replaceAll("\n", "\n  ")}`]),
    ...(cwd === null || cwd === "." ? [] : [`in ${shownName(cwd)}`]),
    ...(url === null ? [] : [`Address: ${url}`]),
    ...(tool === null ? [] : [`Tool: ${shownName(tool)}`]),
    ...valuesOf(input),
    ...edits.flatMap((edit) => [
      `${editHeading(edit)}:`,
      ...changedLines(edit).map(({ sign, text }) => (text === "" && sign === " " ? "" : `${sign} ${text}`))
    ]),
    ...(gap === undefined ? [] : [gap])
  ]
  return escapeUnseen(lines.join("\n"))
}

/** The other values of a call, each by its name. */
const valuesOf = (input: string | null): ReadonlyArray<string> => {
  if (input === null) return []
  try {
    const value: unknown = JSON.parse(input)
    if (typeof value !== "object" || value === null || Array.isArray(value)) return [input]
    return Object.entries(value).map(([name, each]) => {
      const text = typeof each === "string" ? each : JSON.stringify(each, null, 2)
      return `${name}: ${text.replaceAll("\n", "\n  ")}`
    })
  } catch {
    // It was cut.
    return [input]
  }
}
