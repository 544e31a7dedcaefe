import { isUtf8 } from "node:buffer"
import { Effect } from "effect"
import { treeRecords } from "../../capture/attributes/TreeAttributes.js"
import { noMode, type RawChange } from "../../repository/read/Changes.js"
import type { GitError } from "../../repository/run/GitError.js"
import type { GitOptionsShape } from "../../repository/run/GitOptions.js"
import type { KnownTree } from "./KnownTree.js"

// Finds names that a file system of macOS or Windows takes for one, so that a checkout there loses a file.

/** A latin1 path as a file system has it that regards neither case nor Unicode form. */
export const foldedName = (latin1: string): string => {
  if (/^[\0-\x7f]*$/.test(latin1)) return latin1.toLowerCase()
  const bytes = Buffer.from(latin1, "latin1")
  return isUtf8(bytes) ? bytes.toString("utf8").normalize("NFC").toLowerCase().normalize("NFC") : latin1
}

/** The folders above a path, from the top. */
const above = (path: string): ReadonlyArray<string> => {
  const folders: Array<string> = []
  for (let at = path.indexOf("/"); at > 0; at = path.indexOf("/", at + 1)) folders.push(path.slice(0, at))
  return folders
}

const append = (lists: Map<string, Array<string>>, key: string, value: string): void => {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [value])
  else list.push(value)
}

/** The added paths that collide with another name of the tree, each with that name. A file collides with a folder too. */
export const findCollisions = (added: ReadonlySet<string>, all: Iterable<string>): ReadonlyMap<string, string> => {
  const addedAs = new Map<string, Array<string>>()
  const addedBelow = new Map<string, Array<string>>()
  /** Folders in which an added name stands, or a folder above one. Only names in these can be equal to one of them. */
  const near = new Set<string>()
  for (const path of added) {
    const name = foldedName(path)
    append(addedAs, name, path)
    near.add(folderOf(name))
    for (const folder of above(name)) {
      append(addedBelow, folder, path)
      near.add(folderOf(folder))
    }
  }
  const found = new Map<string, string>()
  let last: Folder | undefined
  for (const path of all) {
    const folder = folderOf(path)
    if (folder !== last?.path) last = lookAt(folder, addedAs, near)
    for (const other of last.taken) found.set(other, path)
    if (!last.isNear) continue
    const name = foldedName(path)
    for (const other of addedAs.get(name) ?? []) if (other !== path) found.set(other, path)
    for (const below of addedBelow.get(name) ?? []) found.set(below, path)
  }
  return found
}

const folderOf = (path: string): string => path.slice(0, Math.max(path.lastIndexOf("/"), 0))

interface Folder {
  readonly path: string
  /** The added files whose name is that of the folder, or of one above it. */
  readonly taken: ReadonlyArray<string>
  readonly isNear: boolean
}

/** Paths come sorted by folder, so a folder is looked at once for all of its files. */
const lookAt = (
  path: string,
  addedAs: ReadonlyMap<string, ReadonlyArray<string>>,
  near: ReadonlySet<string>
): Folder => {
  const name = foldedName(path)
  const taken = path === "" ? [] : [...above(name), name].flatMap((folder) => addedAs.get(folder) ?? [])
  // A name with bytes that are no text is compared as it is.
  return { path, taken, isNear: near.has(name) || near.has(path) }
}

/** The names that a change adds and that collide, each with the other name. The tree is read only where a name is added. */
export const nameCollisions = (
  options: GitOptionsShape,
  { gitDir, tree }: { readonly gitDir: string; readonly tree: string },
  changes: ReadonlyArray<RawChange>,
  known: KnownTree | null
): Effect.Effect<ReadonlyMap<string, string>, GitError> => {
  const added = new Set(
    changes.flatMap(({ newMode, oldMode, path }) => (oldMode === noMode && newMode !== noMode ? [path] : []))
  )
  if (added.size === 0) return Effect.succeed(new Map())
  if (known !== null) return Effect.sync(() => findCollisions(added, known.paths()))
  return Effect.map(treeRecords(options, gitDir, tree), (all) =>
    findCollisions(
      added,
      all.map(({ path }) => path)
    )
  )
}
