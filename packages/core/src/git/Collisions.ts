import { isUtf8 } from "node:buffer"
import { Effect } from "effect"
import { noMode, type RawChange } from "./Changes.js"
import type { GitError } from "./GitError.js"
import type { GitOptionsShape } from "./GitOptions.js"
import { treeRecords } from "./TreeAttributes.js"

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
  for (const path of added) {
    const name = foldedName(path)
    append(addedAs, name, path)
    for (const folder of above(name)) append(addedBelow, folder, path)
  }
  const found = new Map<string, string>()
  for (const path of all) {
    const name = foldedName(path)
    for (const other of addedAs.get(name) ?? []) if (other !== path) found.set(other, path)
    for (const below of addedBelow.get(name) ?? []) found.set(below, path)
    if (name.includes("/"))
      for (const folder of above(name)) for (const other of addedAs.get(folder) ?? []) found.set(other, path)
  }
  return found
}

/** The names that a change adds and that collide, each with the other name. The tree is read only where a name is added. */
export const nameCollisions = (
  options: GitOptionsShape,
  { gitDir, tree }: { readonly gitDir: string; readonly tree: string },
  changes: ReadonlyArray<RawChange>
): Effect.Effect<ReadonlyMap<string, string>, GitError> => {
  const added = new Set(
    changes.flatMap(({ newMode, oldMode, path }) => (oldMode === noMode && newMode !== noMode ? [path] : []))
  )
  if (added.size === 0) return Effect.succeed(new Map())
  return Effect.map(treeRecords(options, gitDir, tree), (all) =>
    findCollisions(
      added,
      all.map(({ path }) => path)
    )
  )
}
