import { linesWithEnds, sharedLines } from "@reins/base/base/SealSubject"
import type { SubjectEdit, SubjectGap } from "@reins/base/domain/ApprovalSubject"
import type { AskedDiff } from "./AskedCall.js"
import type { FoundFile } from "./AskedFiles.js"

/** The lines around a change that are shown with it. */
const context = 3
/** A text that stands more often in its file has no places that anybody looks at. */
const mostPlaces = 1000

/** The changes of a diff in its file, and the file after them. */
export interface PlacedDiff {
  readonly edits: ReadonlyArray<SubjectEdit>
  readonly gap: SubjectGap | undefined
  readonly after: FoundFile
}

/**
 * Finds the place of a diff in its file. Agents tell whole files, a part with lines around it, or bare strings. A text that stands in the file more
 * than once has a place only where all of them are to be replaced.
 */
export const placeDiff = (
  path: string,
  found: FoundFile,
  { is_deleted = false, new_text, old_text }: AskedDiff,
  isEverywhere: boolean
): PlacedDiff => {
  const old = old_text === "" ? null : old_text
  const after = is_deleted ? null : new_text
  const unplaced = (gap: SubjectGap): PlacedDiff => ({
    edits:
      old === null || after === null
        ? [{ path, old_text: old, new_text: after, line: null }]
        : hunksOf(path, old, [changeOf(0, old, after)]).map((edit) => ({ ...edit, line: null })),
    gap,
    after: { is: "unread" }
  })
  const whole = (before: string | null): PlacedDiff => ({
    edits:
      before === null || after === null
        ? [{ path, old_text: before, new_text: after, line: 1 }]
        : hunksOf(path, before, [changeOf(0, before, after)]),
    gap: undefined,
    after: after === null ? { is: "absent" } : { is: "text", text: after }
  })
  if (found.is === "outside") return unplaced("outside")
  if (found.is === "unread") return unplaced("unplaced")
  if (found.is === "absent") return old === null && after !== null ? whole(null) : unplaced("unplaced")
  const { text } = found
  if (after === null || old === text || text === "")
    return old === null || old === text ? whole(text) : unplaced("unplaced")
  // Without a text before, an agent writes the whole file. With an empty one it may add to it.
  if (old === null) return old_text === null ? whole(text) : unplaced("unplaced")
  const ends = text.includes("\r\n") && !text.includes(old) ? (part: string) => part.replace(/\r?\n/g, "\r\n") : same
  const [part, instead] = [ends(old), ends(after)]
  const places = placesOf(text, part, isEverywhere)
  if (places.length === 0 || places.length > (isEverywhere ? mostPlaces : 1)) return unplaced("unplaced")
  const changed = isEverywhere ? text.replaceAll(part, () => instead) : text.replace(part, () => instead)
  return {
    edits: hunksOf(
      path,
      text,
      places.map((at) => changeOf(at, part, instead))
    ),
    gap: undefined,
    after: { is: "text", text: changed }
  }
}

const same = (text: string): string => text

/** The places of a part in a text, and one more than count. */
const placesOf = (text: string, part: string, isEverywhere: boolean): ReadonlyArray<number> => {
  const places: Array<number> = []
  for (let at = text.indexOf(part); at >= 0 && places.length <= (isEverywhere ? mostPlaces : 1); ) {
    places.push(at)
    at = text.indexOf(part, at + (isEverywhere ? part.length : 1))
  }
  return places
}

/** A change of a text: what stands from `start` to `end` becomes `now`. */
interface Change {
  readonly start: number
  readonly end: number
  readonly now: string
}

/** The change of a part at a place, without the lines that both sides share at their ends. */
const changeOf = (at: number, part: string, instead: string): Change => {
  const [old, now] = [linesWithEnds(part), linesWithEnds(instead)]
  const { first, last } = sharedLines(old, now)
  const lengthOf = (lines: ReadonlyArray<string>) => lines.reduce((sum, line) => sum + line.length, 0)
  return {
    start: at + lengthOf(old.slice(0, first)),
    end: at + part.length - lengthOf(old.slice(old.length - last)),
    now: now.slice(first, now.length - last).join("")
  }
}

/** The changes of a text as edits with the lines around them. Changes whose lines meet are one edit. */
const hunksOf = (path: string, text: string, changes: ReadonlyArray<Change>): ReadonlyArray<SubjectEdit> => {
  const starts = [0]
  for (let at = text.indexOf("\n"); at >= 0 && at + 1 < text.length; at = text.indexOf("\n", at + 1))
    starts.push(at + 1)
  const offsetOf = (line: number): number => (line >= starts.length ? text.length : (starts[line] ?? 0))
  const edits: Array<SubjectEdit> = []
  let shift = 0
  for (let index = 0; index < changes.length; ) {
    const first = lineAt(starts, text, changes[index]?.start ?? 0)
    const from = Math.max(0, first - context)
    const group: Array<Change> = []
    let to = from
    for (; index < changes.length; index++) {
      const change = changes[index]
      if (change === undefined) break
      if (group.length > 0 && lineAt(starts, text, change.start) - context > to) break
      group.push(change)
      to = Math.min(starts.length, endLineAt(starts, text, change) + context)
    }
    const old = text.slice(offsetOf(from), offsetOf(to))
    const now = withChanges(text, group, offsetOf(from), offsetOf(to))
    edits.push({ path, old_text: old, new_text: now, line: from + 1 + shift })
    shift += linesWithEnds(now).length - linesWithEnds(old).length
  }
  return edits
}

/** The number of the line of an offset, counted from 0. The end of a text whose last line has an end is a line of its own. */
const lineAt = (starts: ReadonlyArray<number>, text: string, offset: number): number => {
  if (offset >= text.length)
    return text === "" || text.endsWith("\n") ? (text === "" ? 0 : starts.length) : starts.length - 1
  let [low, high] = [0, starts.length - 1]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((starts[middle] ?? 0) <= offset) low = middle
    else high = middle - 1
  }
  return low
}

/** The line after the last one that a change touches. */
const endLineAt = (starts: ReadonlyArray<number>, text: string, { end, start }: Change): number => {
  const line = lineAt(starts, text, end)
  const isAtStart = starts[line] === end || end >= text.length
  return end > start && isAtStart ? lineAt(starts, text, end - 1) + 1 : isAtStart ? line : line + 1
}

const withChanges = (text: string, changes: ReadonlyArray<Change>, from: number, to: number): string => {
  let made = ""
  let at = from
  for (const { end, now, start } of changes) {
    made += text.slice(at, start) + now
    at = end
  }
  return made + text.slice(at, to)
}
