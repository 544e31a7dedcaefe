import { wholeCharacters } from "../base/CutText.js"
import type { GitOptionsShape } from "./GitOptions.js"

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

const linesOf = function* (bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf(10, at)
    const next = end < 0 ? bytes.length : end + 1
    yield bytes.subarray(at, next)
    at = next
  }
}

const plus = 0x2b
const minus = 0x2d
const note = 0x5c

interface Sides {
  before: number
  after: number
}

const count = (line: Buffer, sides: Sides): void => {
  if (line[0] === note) return
  if (line[0] !== plus) sides.before += 1
  if (line[0] !== minus) sides.after += 1
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
  const [head = Buffer.alloc(0), ...lines] = linesOf(hunk)
  const sides: Sides = { before: 0, after: 0 }
  const shown: Array<Buffer> = []
  let size = head.length
  for (const line of lines) {
    if (size + line.length > most) break
    count(line, sides)
    shown.push(line)
    size += line.length
  }
  const whole = countLines([Buffer.concat(shown)])
  const next = lines[shown.length]
  if (shown.length === 0 && next !== undefined && most - size >= leastBytes) {
    const end = wholeCharacters(next.subarray(0, most - size)).length
    count(next, sides)
    shown.push(next.subarray(0, end), Buffer.from(`\n\\ ${next.length - end} more bytes of this line are left out\n`))
  }
  return { text: shown.length === 0 ? Buffer.alloc(0) : Buffer.concat([headFor(head, sides), ...shown]), ...whole }
}

const countLines = (pieces: ReadonlyArray<Buffer>): { readonly additions: number; readonly deletions: number } => {
  let additions = 0
  let deletions = 0
  for (const piece of pieces)
    for (const line of linesOf(piece)) {
      if (line[0] === plus) additions += 1
      else if (line[0] === minus) deletions += 1
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
