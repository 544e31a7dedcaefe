import { Effect } from "effect"
import type { TreeRecord } from "../../capture/attributes/TreeAttributes.js"
import { attributesIn } from "../../capture/files/BaseIndex.js"
import type { TreeFile } from "../../capture/index/Capture.js"
import { type IndexFile, indexPaths } from "../../capture/index/IndexFile.js"
import { isAttributes, noMode, type RawChange } from "../../repository/read/Changes.js"

// Tells what a captured tree holds from the index of its base and its changes, without asking git.

export interface KnownTree {
  /** The entries of attributes that the base has, and those of the tree. */
  readonly attributes: Effect.Effect<{
    readonly before: ReadonlyArray<TreeRecord>
    readonly after: ReadonlyArray<TreeRecord>
  }>
  /** Every path of the tree, those that the base has not in the end. */
  readonly paths: () => Iterable<string>
}

const recordsOf = (files: ReadonlyMap<string, TreeFile>): ReadonlyArray<TreeRecord> =>
  [...files].map(([path, file]) => ({ path, ...file }))

const attributesOf = async (base: IndexFile, changes: ReadonlyArray<RawChange>) => {
  const before = await attributesIn(base)
  const after = new Map(before)
  for (const { newId, newMode, path } of changes.filter(isAttributes))
    if (newMode === noMode) after.delete(path)
    else after.set(path, { mode: newMode, id: newId })
  return { before: recordsOf(before), after: recordsOf(after) }
}

function* pathsOf(base: IndexFile, changes: ReadonlyArray<RawChange>): Generator<string> {
  const gone = new Set(changes.filter(({ newMode }) => newMode === noMode).map(({ path }) => path))
  for (const path of indexPaths(base)) if (!gone.has(path)) yield path
  for (const { newMode, oldMode, path } of changes) if (oldMode === noMode && newMode !== noMode) yield path
}

/** The tree that the changes of a base lead to. */
export const knownTree = (index: IndexFile, changes: ReadonlyArray<RawChange>): KnownTree => ({
  attributes: Effect.promise(() => attributesOf(index, changes)),
  paths: () => pathsOf(index, changes)
})
