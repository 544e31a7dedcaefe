import { Effect } from "effect"
import { emptyTree, git, records, utf8Name } from "./GitCommand.js"
import type { GitError } from "./GitError.js"
import type { GitOptionsShape } from "./GitOptions.js"

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

const statuses: Readonly<Record<string, FileChange["status"]>> = {
  A: "added",
  D: "deleted",
  R: "renamed",
  T: "type_changed"
}

/** A latin1 name as text for people. Bytes that are not UTF-8 show as U+FFFD. */
export const shownName = (latin1: string): string => utf8Name(latin1) ?? Buffer.from(latin1, "latin1").toString("utf8")

interface Cursor {
  readonly next: () => string
  readonly done: () => boolean
}

const cursorOf = (items: ReadonlyArray<string>): Cursor => {
  let at = 0
  return { next: () => items[at++] ?? "", done: () => at >= items.length }
}

const rawChange = (header: string, cursor: Cursor): RawChange => {
  const [oldMode = "", newMode = "", oldId = "", newId = "", letter = ""] = header.slice(1).split(" ")
  const first = cursor.next()
  const renamed = letter.startsWith("R") || letter.startsWith("C")
  return {
    oldMode,
    newMode,
    oldId,
    newId,
    letter: letter.slice(0, 1),
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
  additions: Number.parseInt(added, 10) || 0,
  deletions: Number.parseInt(deleted, 10) || 0,
  binary: added === "-"
})

/** Reads the `-z --raw` output of a diff, with or without `--numstat` after it. */
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
      const [added = "", deleted = "", ...name] = record.split("\t")
      const direct = name.join("\t")
      if (direct === "") cursor.next()
      counts.set(direct === "" ? cursor.next() : direct, countOf(added, deleted))
    }
  }
  return { raw, counts }
}

const byPath = (left: { readonly path: string }, right: { readonly path: string }): number =>
  left.path < right.path ? -1 : left.path > right.path ? 1 : 0

/** The differences from `base` (null: from nothing) to `tree`, each path by itself without renames, in byte order of the path. */
export const rawChanges = (
  options: GitOptionsShape,
  gitDir: string,
  base: string | null,
  tree: string,
  env: Readonly<Record<string, string>> = {}
): Effect.Effect<ReadonlyArray<RawChange>, GitError> =>
  git({
    args: ["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", base ?? emptyTree, tree],
    gitDir,
    env,
    timeoutMs: options.localTimeoutMs
  }).pipe(Effect.map((output) => [...parseChanges(output.stdout).raw].sort(byPath)))

const fileChange = (change: RawChange, count: Count | undefined): FileChange => ({
  path: shownName(change.path),
  ...(change.oldPath === null ? {} : { old_path: shownName(change.oldPath) }),
  status: statuses[change.letter] ?? "modified",
  mode: change.letter === "D" ? change.oldMode : change.newMode,
  additions: count?.additions ?? 0,
  deletions: count?.deletions ?? 0,
  binary: count?.binary ?? false
})

/** The differences from `base` to `tree` for people, with renames and line counts, in byte order of the path. */
export const fileChanges = (
  options: GitOptionsShape,
  gitDir: string,
  base: string | null,
  tree: string
): Effect.Effect<ReadonlyArray<FileChange>, GitError> =>
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
      base ?? emptyTree,
      tree
    ],
    gitDir,
    timeoutMs: options.localTimeoutMs
  }).pipe(
    Effect.map((output) => {
      const { counts, raw } = parseChanges(output.stdout)
      return [...raw].sort(byPath).map((change) => fileChange(change, counts.get(change.path)))
    })
  )
