import { type Reins, ReinsApiError } from "@reins/client"
import type { Comment } from "./Review.js"

/** Writes the lines that a comment suggests into the working tree. */
export type Apply = (comment: Comment, lines: string) => Promise<void>

/** A part of a comment. */
export interface CommentPart {
  readonly kind: "words" | "suggestion"
  readonly text: string
}

const opening = /^(`{3,})suggestion[ \t]*$/
const closing = /^(`{3,})[ \t]*$/

interface Block {
  /** The places of its first and behind its last character. */
  readonly from: number
  readonly to: number
  readonly inside: string
}

/** The blocks of suggestions of a text. A block ends at the next line that has as many marks as it began with. */
const blocksOf = (text: string): ReadonlyArray<Block> => {
  const lines: Array<{ readonly from: number; readonly line: string }> = []
  // The lines that end blocks, by their marks, the last one first.
  const ends = new Map<string, Array<number>>()
  let at = 0
  for (const line of text.split("\n")) {
    lines.push({ from: at, line })
    at += line.length + 1
  }
  for (const [number, { line }] of [...lines.entries()].reverse()) {
    const [, marks] = closing.exec(line) ?? []
    if (marks === undefined) continue
    const known = ends.get(marks)
    if (known === undefined) ends.set(marks, [number])
    else known.push(number)
  }
  const blocks: Array<Block> = []
  let next = 0
  for (const [number, { from, line }] of lines.entries()) {
    const [, marks] = opening.exec(line) ?? []
    if (marks === undefined || number < next) continue
    const closings = ends.get(marks) ?? []
    while ((closings.at(-1) ?? number + 1) <= number) closings.pop()
    const last = lines[closings.at(-1) ?? -1]
    if (last === undefined) continue
    next = (closings.at(-1) ?? number) + 1
    blocks.push({ from, to: last.from + last.line.length, inside: text.slice(from + line.length + 1, last.from) })
  }
  return blocks
}

/** The words of a comment and the blocks of suggestions in it, as on GitHub. An empty block suggests to delete the lines. */
export const partsOf = (text: string): ReadonlyArray<CommentPart> => {
  const parts: Array<CommentPart> = []
  let at = 0
  const words = (to: number) => {
    const between = text.slice(at, to).trim()
    if (between !== "") parts.push({ kind: "words", text: between })
  }
  for (const { from, inside, to } of blocksOf(text)) {
    words(from)
    parts.push({ kind: "suggestion", text: inside.replace(/\n$/, "") })
    at = to
  }
  words(text.length)
  return parts
}

/** A block with the lines as they are, to be changed by its writer. */
export const suggestionFor = (lines: string): string => {
  const longest = Math.max(2, ...[...lines.matchAll(/`+/g)].map(([run]) => run.length))
  const marks = "`".repeat(longest + 1)
  return `${marks}suggestion\n${lines}\n${marks}\n`
}

/** The lines that a comment is about. */
export type Commented = Pick<Comment, "from" | "number" | "quote">

const withoutReturn = (line: string): string => line.replace(/\r$/, "")

/**
 * The text of a file with other lines in the place of the commented ones; undefined where these have changed. They may have moved, if they stand in
 * the file once. Line ends stay those of the file.
 */
export const withSuggestion = (
  content: string,
  { from, number, quote }: Commented,
  lines: string
): string | undefined => {
  const present = content.split("\n")
  const wanted = quote.split("\n").map(withoutReturn)
  const isAt = (place: number) => wanted.every((line, at) => withoutReturn(present[place + at] ?? "\n") === line)
  const usual = (from ?? number) - 1
  const places = present.flatMap((_, place) => (isAt(place) ? [place] : []))
  const place = isAt(usual) ? usual : places.length === 1 ? places[0] : undefined
  if (place === undefined) return undefined
  const end = present[place]?.endsWith("\r") === true ? "\r" : ""
  const inserted = lines === "" ? [] : lines.split("\n").map((line) => `${withoutReturn(line)}${end}`)
  return [...present.slice(0, place), ...inserted, ...present.slice(place + wanted.length)].join("\n")
}

/** Applies a suggestion to the file as it is now. A file that has changed otherwise is not written. Then the work is captured. */
export const applySuggestion =
  (reins: Reins, session_id: string): Apply =>
  async (comment, lines) => {
    const { path } = comment
    const file = await reins.sessions.getFile({ session_id, path })
    if (file.encoding !== "utf-8" || file.truncated || file.digest === null)
      throw new Error("This file is too large to be changed here. Send the comment to the agent.")
    const content = withSuggestion(file.content, comment, lines)
    if (content === undefined) throw new Error(changed)
    try {
      await reins.sessions.uploadFile({ session_id, path, content, expected_digest: file.digest })
    } catch (error) {
      throw error instanceof ReinsApiError && error.code === "version_conflict" ? new Error(changed) : error
    }
    try {
      await reins.sessions.capture({ session_id, label: "Suggestion" })
    } catch (error) {
      // The end of a running turn captures it.
      if (!(error instanceof ReinsApiError && error.code === "turn_active")) throw error
    }
  }

const changed =
  "These lines have changed in the working tree since. Nothing was written. Review the newest changeset, or send the comment to the agent."
