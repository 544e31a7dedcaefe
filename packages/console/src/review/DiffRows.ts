import { isBetween } from "../words/Words.js"

/** A line of a diff, with its numbers on both sides. */
export interface Line {
  readonly kind: "context" | "insert" | "delete"
  readonly text: string
  readonly before: number | null
  readonly after: number | null
  /** The part that differs from the line that it replaces, as positions in the text. */
  readonly changed: readonly [number, number] | null
}

/** The changes of a file. */
export interface FileDiff {
  readonly path: string
  readonly oldPath: string | null
  readonly additions: number
  readonly deletions: number
  readonly isBinary: boolean
  /** The unchanged lines that were asked for around each change; three when absent. */
  readonly context?: number
  readonly hunks: ReadonlyArray<{ readonly header: string; readonly lines: ReadonlyArray<Line> }>
}

/** The unchanged lines that a diff shows around each change, where the file has them. */
const usualContext = 3

/** The most that a server shows. */
const mostContext = 100

/** The unchanged lines to ask for, to see so many more. */
export const widerBy = (file: FileDiff | undefined, lines: number): number =>
  Math.min(mostContext, (file?.context ?? usualContext) + lines)

/** False for a diff that shows the whole file, or as much of it as a server shows. Both ends of the file cut a single hunk short. */
export const hasMore = ({ context = usualContext, hunks }: FileDiff): boolean => {
  if (context >= mostContext) return false
  const [only, another] = hunks
  if (only === undefined) return false
  const first = only.lines.findIndex(({ kind }) => kind !== "context")
  const last = only.lines.findLastIndex(({ kind }) => kind !== "context")
  return another !== undefined || first >= context || only.lines.length - 1 - last >= context
}

/** The place of a comment: a line of the new text, or one that was deleted. */
export interface Place {
  readonly path: string
  readonly side: "before" | "after"
  readonly number: number
}

/** The place of a line; undefined for one that has no number. */
export const placeOf = (path: string, { after, before, kind }: Line): Place | undefined => {
  const side = kind === "delete" ? "before" : "after"
  const number = side === "after" ? after : before
  return number === null ? undefined : { path, side, number }
}

/** Tells one place from another. */
export const placeKey = ({ number, path, side }: Place): string => `${path}:${side}:${number}`

/** A row of the diff. */
export type Row = { readonly key: string; readonly file: number } & (
  | { readonly kind: "file"; readonly diff: FileDiff }
  | { readonly kind: "hunk"; readonly header: string }
  | { readonly kind: "line"; readonly path: string; readonly line: Line }
  | { readonly kind: "pair"; readonly path: string; readonly left: Line | null; readonly right: Line | null }
  | { readonly kind: "note"; readonly text: string }
)

/** Marks in each pair of replaced lines what differs. */
export const withChanges = (lines: ReadonlyArray<Line>): ReadonlyArray<Line> => {
  const marked = [...lines]
  for (const { deleted, inserted } of runsOf(lines)) {
    if (deleted.length !== inserted.length) continue
    deleted.forEach((from, index) => {
      const to = inserted[index] ?? from
      const [before, after] = [marked[from], marked[to]]
      if (before === undefined || after === undefined) return
      const [head, tail] = commonOf(before.text, after.text)
      if (head + tail < Math.max(before.text.length, after.text.length) / 4) return
      marked[from] = { ...before, changed: [head, before.text.length - tail] }
      marked[to] = { ...after, changed: [head, after.text.length - tail] }
    })
  }
  return marked
}

/** The deletions that are followed by insertions, by their indices. */
const runsOf = (lines: ReadonlyArray<Line>) => {
  const runs: Array<{ deleted: Array<number>; inserted: Array<number> }> = []
  let run: { deleted: Array<number>; inserted: Array<number> } | undefined
  lines.forEach(({ kind }, index) => {
    if (kind === "context") run = undefined
    else {
      if (run === undefined || (kind === "delete" && run.inserted.length > 0)) {
        run = { deleted: [], inserted: [] }
        runs.push(run)
      }
      run[kind === "delete" ? "deleted" : "inserted"].push(index)
    }
  })
  return runs
}

/** The numbers of characters that two texts share at their begin and at their end. */
const commonOf = (one: string, other: string): readonly [number, number] => {
  const most = Math.min(one.length, other.length)
  let head = 0
  while (head < most && one[head] === other[head]) head++
  let tail = 0
  // A mark begins and ends between characters.
  if (head > 0 && !(isBetween(one, head) && isBetween(other, head))) head--
  while (tail < most - head && one[one.length - 1 - tail] === other[other.length - 1 - tail]) tail++
  if (tail > 0 && !(isBetween(one, one.length - tail) && isBetween(other, other.length - tail))) tail--
  return [head, tail]
}

/** The rows of a diff; of a file that was viewed, its head alone. */
export const rowsOf = (
  files: ReadonlyArray<FileDiff>,
  isSplit: boolean,
  viewed: ReadonlySet<string>
): ReadonlyArray<Row> =>
  files.flatMap((diff, file): ReadonlyArray<Row> => {
    const { hunks, isBinary, path } = diff
    const head: Row = { kind: "file", key: `${file}`, file, diff }
    if (viewed.has(path)) return [head]
    if (isBinary) return [head, { kind: "note", key: `${file}.note`, file, text: "The file is not a text." }]
    return [
      head,
      ...hunks.flatMap(({ header, lines }, hunk): ReadonlyArray<Row> => {
        const key = `${file}.${hunk}`
        return [
          { kind: "hunk", key, file, header },
          ...(isSplit ? pairs(lines, key, file, path) : single(lines, key, file, path))
        ]
      })
    ]
  })

const single = (lines: ReadonlyArray<Line>, key: string, file: number, path: string): ReadonlyArray<Row> =>
  lines.map((line, index) => ({ kind: "line", key: `${key}.${index}`, file, path, line }))

const pairs = (lines: ReadonlyArray<Line>, key: string, file: number, path: string): ReadonlyArray<Row> => {
  const rows: Array<Row> = []
  const put = (left: Line | null, right: Line | null) =>
    rows.push({ kind: "pair", key: `${key}.${rows.length}`, file, path, left, right })
  let index = 0
  while (index < lines.length) {
    const line = lines[index]
    if (line === undefined) break
    if (line.kind === "context") {
      put(line, line)
      index++
      continue
    }
    const begin = index
    while (lines[index]?.kind === "delete") index++
    const middle = index
    while (lines[index]?.kind === "insert") index++
    for (let at = 0; at < Math.max(middle - begin, index - middle); at++)
      put(
        at < middle - begin ? (lines[begin + at] ?? null) : null,
        at < index - middle ? (lines[middle + at] ?? null) : null
      )
  }
  return rows
}

/** The files in the order of their folders, as the tree lists them: the files of a folder before its folders. */
export const inOrder = (files: ReadonlyArray<FileDiff>): ReadonlyArray<FileDiff> =>
  [...files].sort((one, other) => {
    const [left, right] = [one.path.split("/"), other.path.split("/")]
    for (let at = 0; at < Math.min(left.length, right.length); at++) {
      const [here, there] = [left[at] ?? "", right[at] ?? ""]
      if (here === there) continue
      const isFile = Number(at < left.length - 1) - Number(at < right.length - 1)
      return isFile !== 0 ? isFile : here.localeCompare(there)
    }
    return left.length - right.length
  })

/** The lines of a file on one side of a diff as one text, with the place of each line in it. */
export const sideOf = (
  { hunks }: FileDiff,
  side: "before" | "after"
): { readonly text: string; readonly places: ReadonlyMap<number, number> } => {
  const lines: Array<string> = []
  const places = new Map<number, number>()
  for (const line of hunks.flatMap((hunk) => hunk.lines)) {
    const number = line[side]
    if (number === null) continue
    places.set(number, lines.length)
    lines.push(line.text)
  }
  return { text: lines.join("\n"), places }
}
