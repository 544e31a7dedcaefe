import { wholeCharacters } from "@reins/base/base/CutText"
import type { GitOptionsShape } from "../../repository/run/GitOptions.js"

// Cuts a unified diff to its limits so that the rest still reads as one, and counts the lines that it shows.

/** The part of a diff that belongs to one file, and the lines that it shows whole. */
export interface FilePart {
  readonly text: Buffer
  readonly cut: boolean
  readonly additions: number
  readonly deletions: number
}

/** The limits of a diff. */
export type DiffLimits = Pick<GitOptionsShape, "maxDiffBytes" | "maxDiffFileBytes" | "maxDiffFiles">

/** Less room than this is not worth the head of a file. */
const leastBytes = 512

// Lines of content start with a space, `+`, `-` or a backslash, so no line of content is taken for a marker.
const startsOf = (patch: Buffer, marker: string): ReadonlyArray<number> => {
  const starts: Array<number> = patch.subarray(0, marker.length).toString("latin1") === marker ? [0] : []
  for (let at = patch.indexOf(`\n${marker}`); at >= 0; at = patch.indexOf(`\n${marker}`, at + 1)) starts.push(at + 1)
  return starts
}

/** The files of a patch, each with its head. */
export const filesOfPatch = (patch: Buffer): ReadonlyArray<Buffer> => partsOf(patch, startsOf(patch, "diff --git "))

const partsOf = (bytes: Buffer, starts: ReadonlyArray<number>): ReadonlyArray<Buffer> =>
  starts.map((start, at) => bytes.subarray(start, starts[at + 1] ?? bytes.length))

const lineFeed = 0x0a

/** So far a line feed is looked for byte by byte, which is quicker for the many lines that are short. */
const shortLine = 64

/** The position after the line that begins here. */
const lineEnd = (bytes: Buffer, from: number): number => {
  let at = from
  for (const near = Math.min(bytes.length, from + shortLine); at < near; at += 1)
    if (bytes[at] === lineFeed) return at + 1
  const found = bytes.indexOf(lineFeed, at)
  return found < 0 ? bytes.length : found + 1
}

const plus = 0x2b
const minus = 0x2d
const note = 0x5c

interface Sides {
  before: number
  after: number
}

/** Counts a line by its first byte. */
const count = (first: number | undefined, sides: Sides): void => {
  if (first === note) return
  if (first !== plus) sides.before += 1
  if (first !== minus) sides.after += 1
}

const hunkHead = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/

const sideText = (start: number, given: number, shown: number): string =>
  `${shown === 0 && given > 0 ? start - 1 : start}${shown === 1 ? "" : `,${shown}`}`

/** The head of a hunk for the lines of it that are shown. */
const headFor = (head: Buffer, sides: Sides): Buffer => {
  const text = head.toString("latin1")
  const [whole = "", from = "0", before = "1", to = "0", after = "1"] = hunkHead.exec(text) ?? []
  const numbers = `-${sideText(Number(from), Number(before), sides.before)} +${sideText(Number(to), Number(after), sides.after)}`
  return Buffer.from(`@@ ${numbers} @@${text.slice(whole.length)}`, "latin1")
}

/** The beginning of a hunk, and the lines of it that are shown whole. */
type Beginning = Omit<FilePart, "cut">

/** The beginning of a hunk, as far as it fits. A first line that is too long is cut too, and a note says how many bytes of it are missing. */
const beginningOf = (hunk: Buffer, most: number): Beginning => {
  const begin = lineEnd(hunk, 0)
  const sides: Sides = { before: 0, after: 0 }
  // Lines are counted where they are: a buffer for each of a million costs half a second.
  let at = begin
  for (let next = lineEnd(hunk, at); at < hunk.length && next <= most; next = lineEnd(hunk, at)) {
    count(hunk[at], sides)
    at = next
  }
  const shown = hunk.subarray(begin, at)
  const whole = countLines([shown])
  const head = hunk.subarray(0, begin)
  if (at > begin) return { text: Buffer.concat([headFor(head, sides), shown]), ...whole }
  if (at === hunk.length || most - begin < leastBytes) return { text: Buffer.alloc(0), ...whole }
  const first = hunk.subarray(at, lineEnd(hunk, at))
  const end = wholeCharacters(first.subarray(0, most - begin)).length
  count(first[0], sides)
  const left = Buffer.from(`\n\\ ${first.length - end} more bytes of this line are left out\n`)
  return { text: Buffer.concat([headFor(head, sides), first.subarray(0, end), left]), ...whole }
}

const countLines = (pieces: ReadonlyArray<Buffer>): { readonly additions: number; readonly deletions: number } => {
  let additions = 0
  let deletions = 0
  for (const piece of pieces)
    for (let at = 0; at < piece.length; at = lineEnd(piece, at)) {
      if (piece[at] === plus) additions += 1
      else if (piece[at] === minus) deletions += 1
    }
  return { additions, deletions }
}

/** Cuts the part of one file at the edge of a line. */
const cutFile = (file: Buffer, most: number, complete: boolean): FilePart => {
  const starts = startsOf(file, "@@ ")
  const hunks = partsOf(file, starts)
  if (complete && file.length <= most) return { text: file, cut: false, ...countLines(hunks) }
  const head = file.subarray(0, starts[0] ?? file.length)
  if (head.length > most) return { text: Buffer.alloc(0), cut: true, additions: 0, deletions: 0 }
  let room = most - head.length
  let fitting = 0
  while (fitting < hunks.length - (complete ? 0 : 1) && (hunks[fitting]?.length ?? 0) <= room)
    room -= hunks[fitting++]?.length ?? 0
  const next = hunks[fitting]
  const beginning =
    next === undefined ? undefined : beginningOf(fitting < hunks.length - 1 || complete ? next : wholeLines(next), room)
  const whole = countLines(hunks.slice(0, fitting))
  return {
    text: Buffer.concat([head, ...hunks.slice(0, fitting), ...(beginning === undefined ? [] : [beginning.text])]),
    cut: true,
    additions: whole.additions + (beginning?.additions ?? 0),
    deletions: whole.deletions + (beginning?.deletions ?? 0)
  }
}

/** The end of what was read may be a part of a line. */
const wholeLines = (bytes: Buffer): Buffer => bytes.subarray(0, bytes.lastIndexOf(10) + 1)

/** The parts of a patch within its limits, in its order, and whether anything was left out. */
export const limitParts = (
  patch: Buffer,
  complete: boolean,
  limits: DiffLimits
): { readonly parts: ReadonlyArray<FilePart>; readonly truncated: boolean } => {
  const files = filesOfPatch(patch)
  const parts: Array<FilePart> = []
  let room = limits.maxDiffBytes
  let truncated = !complete || files.length > limits.maxDiffFiles
  for (const [at, file] of files.slice(0, limits.maxDiffFiles).entries()) {
    const isLast = at === files.length - 1
    const part = cutFile(file, Math.min(limits.maxDiffFileBytes, room), complete || !isLast)
    if (part.text.length === 0) {
      truncated = true
      break
    }
    truncated ||= part.cut
    room -= part.text.length
    parts.push(part)
    if (part.cut && room < leastBytes) break
  }
  return { parts, truncated: truncated || parts.length < files.length }
}
