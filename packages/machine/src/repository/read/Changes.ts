import { Effect } from "effect"
import { pathText, quotedPath } from "../../files/NameText.js"
import { emptyTree, git, records } from "../run/GitCommand.js"
import { type GitError, readOutput } from "../run/GitError.js"
import type { GitOptionsShape } from "../run/GitOptions.js"

/** One changed file. `mode` is git's (`100644`, `100755`, `120000`); a deleted file has its old mode. Counts are of lines. */
export interface FileChange {
  readonly path: string
  readonly old_path?: string
  readonly status: "added" | "modified" | "deleted" | "renamed" | "type_changed"
  readonly mode: string
  readonly additions: number
  readonly deletions: number
  readonly binary: boolean
}

/** A change as git's plumbing writes it. Modes and ids are all zeros on a side without the file. Names are latin1. */
export interface RawChange {
  readonly oldMode: string
  readonly newMode: string
  readonly oldId: string
  readonly newId: string
  readonly letter: string
  readonly path: string
  readonly oldPath: string | null
}

/** Tells whether a change is to a file of attributes, as gitattributes(5) names it. */
export const isAttributes = ({ path }: RawChange): boolean =>
  path === ".gitattributes" || path.endsWith("/.gitattributes")

/** The mode on a side without the file. */
export const noMode = "000000"

const statuses: Readonly<Record<string, FileChange["status"]>> = {
  A: "added",
  D: "deleted",
  R: "renamed",
  T: "type_changed"
}

/** A latin1 path as text, which `pathText` says how to read back. */
export const shownName = (latin1: string): string => pathText(Buffer.from(latin1, "latin1"))

/** A latin1 path in a sentence. */
export const quotedName = (latin1: string): string => quotedPath(Buffer.from(latin1, "latin1"))

interface Cursor {
  readonly next: () => string
  readonly done: () => boolean
}

const unknown = (record: string): Error => new Error(`not a record of a diff: ${record}`)

const cursorOf = (items: ReadonlyArray<string>): Cursor => {
  let at = 0
  const next = () => {
    const item = items[at++]
    if (item === undefined || item === "") throw unknown("an empty name")
    return item
  }
  return { next, done: () => at >= items.length }
}

const header = /^:([0-7]{6}) ([0-7]{6}) ([0-9a-f]{40}) ([0-9a-f]{40}) ([ACDMRTU])(\d*)$/

const rawChange = (record: string, cursor: Cursor): RawChange => {
  const [, oldMode = "", newMode = "", oldId = "", newId = "", letter = ""] = header.exec(record) ?? []
  if (letter === "") throw unknown(record)
  const first = cursor.next()
  const renamed = letter === "R" || letter === "C"
  return {
    oldMode,
    newMode,
    oldId,
    newId,
    letter,
    path: renamed ? cursor.next() : first,
    oldPath: renamed ? first : null
  }
}

interface Count {
  readonly additions: number
  readonly deletions: number
  readonly binary: boolean
}

const countOf = (added: string, deleted: string): Count => ({
  additions: added === "-" ? 0 : Number(added),
  deletions: deleted === "-" ? 0 : Number(deleted),
  binary: added === "-"
})

/** Reads the `-z --raw` output of a diff, with or without `--numstat` after it. Throws at a record that is neither. */
export const parseChanges = (
  output: Buffer
): { readonly raw: ReadonlyArray<RawChange>; readonly counts: ReadonlyMap<string, Count> } => {
  const raw: Array<RawChange> = []
  const counts = new Map<string, Count>()
  const cursor = cursorOf(records(output))
  while (!cursor.done()) {
    const record = cursor.next()
    if (record.startsWith(":")) {
      raw.push(rawChange(record, cursor))
    } else {
      const [, added = "", deleted = "", direct = ""] = /^(\d+|-)\t(\d+|-)\t(.*)$/s.exec(record) ?? []
      if (added === "" || (added === "-") !== (deleted === "-")) throw unknown(record)
      if (direct === "") cursor.next()
      counts.set(direct === "" ? cursor.next() : direct, countOf(added, deleted))
    }
  }
  return { raw, counts }
}

/** The changes in the `-z --raw` output of a command, whole or not at all. */
export const readRaw = (command: string, output: Buffer): Effect.Effect<ReadonlyArray<RawChange>, GitError> =>
  readOutput(command, () => parseChanges(output).raw)

const byPath = (left: { readonly path: string }, right: { readonly path: string }): number =>
  left.path < right.path ? -1 : left.path > right.path ? 1 : 0

/** A `.gitmodules` can ask git to leave its submodules out of a diff. */
export const submodulesToo = "--ignore-submodules=none"

/** The differences from `base` (null: from nothing) to `tree`, each path by itself without renames, in byte order of the path. */
export const rawChanges = (
  options: GitOptionsShape,
  gitDir: string,
  base: string | null,
  tree: string,
  env: Readonly<Record<string, string>> = {}
): Effect.Effect<ReadonlyArray<RawChange>, GitError> =>
  git({
    args: ["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", submodulesToo, base ?? emptyTree, tree],
    gitDir,
    env,
    timeoutMs: options.localTimeoutMs
  }).pipe(
    Effect.flatMap((output) => readRaw("diff-tree", output.stdout)),
    Effect.map((changes) => [...changes].sort(byPath))
  )

const fileChange = (change: RawChange, count: Count | undefined): FileChange => {
  if (count === undefined) throw unknown("no count of lines")
  return {
    path: shownName(change.path),
    ...(change.oldPath === null ? {} : { old_path: shownName(change.oldPath) }),
    status: statuses[change.letter] ?? "modified",
    mode: change.letter === "D" ? change.oldMode : change.newMode,
    additions: count.additions,
    deletions: count.deletions,
    binary: count.binary
  }
}

/** A change for people, beside the names of git. */
export interface FoundChange extends RawChange {
  readonly file: FileChange
}

/** The differences from `base` to `tree` with renames and line counts, in byte order of the path. */
export const foundChanges = (
  options: GitOptionsShape,
  gitDir: string,
  base: string | null,
  tree: string
): Effect.Effect<ReadonlyArray<FoundChange>, GitError> =>
  git({
    args: [
      "diff-tree",
      "-r",
      "-z",
      "--raw",
      "--numstat",
      "--no-abbrev",
      "--find-renames",
      "--no-ext-diff",
      "--no-textconv",
      submodulesToo,
      base ?? emptyTree,
      tree
    ],
    gitDir,
    timeoutMs: options.localTimeoutMs
  }).pipe(
    Effect.flatMap((output) =>
      readOutput("diff-tree", () => {
        const { counts, raw } = parseChanges(output.stdout)
        return [...raw].sort(byPath).map((change) => ({ ...change, file: fileChange(change, counts.get(change.path)) }))
      })
    )
  )

/** The differences from `base` to `tree` for people, in byte order of the path. */
export const fileChanges = (options: GitOptionsShape, gitDir: string, base: string | null, tree: string) =>
  Effect.map(foundChanges(options, gitDir, base, tree), (changes) => changes.map(({ file }) => file))
