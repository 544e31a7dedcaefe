import * as fs from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { cachedIndex, requireTrusted } from "../repository/Repository.js"
import { readCone } from "../repository/run/Cone.js"
import { runGit } from "../repository/run/GitCommand.js"
import { type GitError, onDisk } from "../repository/run/GitError.js"
import type { GitOptionsShape } from "../repository/run/GitOptions.js"
import { skipPaths } from "./files/Outside.js"
import type { PathFinding, TreeFile } from "./index/Capture.js"
import type { Capturing, SnapshotRequest } from "./index/Capturing.js"
import { editedIndex, isSettled, type NewEntry } from "./index/IndexFile.js"
import type { Survey } from "./Survey.js"

// Keeps what a snapshot has read for the next one. The tree does not depend on it.

/** The paths that a snapshot has read, the files that it holds, and the paths that a sparse workspace never had. */
export interface Kept {
  readonly captured: ReadonlyMap<string, PathFinding>
  readonly wanted: ReadonlyMap<string, TreeFile>
  readonly skipped: ReadonlyArray<string>
}

const isSame = (left: TreeFile, right: TreeFile | undefined): boolean =>
  left.id === right?.id && left.mode === right.mode

/** The differences from the cached index to one that holds what was read. */
const editsOf = (capturing: Capturing, found: Survey, { captured, wanted }: Kept) => {
  const edits = new Map<string, NewEntry | null>()
  for (const [path, { cached }] of found.known) {
    const file = wanted.get(path)
    const finding = captured.get(path)
    const read = finding?.state === "file" ? finding : undefined
    // Linked files are read again each time: git compares times in seconds, in which a name can leave the workspace unseen.
    if (file === undefined || read?.isLinked === true) {
      if (cached !== undefined) edits.set(path, null)
      continue
    }
    const isKnown = read !== undefined && isSame(read.file, file) && isSettled(read.stat, capturing.since)
    const stat = isKnown ? read.stat : undefined
    // A file outside of the sparse folders that is there by now is not skipped any more.
    const isShown = read !== undefined && capturing.cone.isSparse
    if (stat !== undefined || isShown || !isSame(file, cached)) edits.set(path, { file, stat })
  }
  return edits
}

/** Keeps the index for the next snapshot. */
export const keepIndex = (capturing: Capturing, found: Survey, kept: Kept): Effect.Effect<void, GitError> =>
  Effect.gen(function* () {
    const { folder, options, since } = capturing
    const { gitDir, workTree } = capturing.request
    const edits = editsOf(capturing, found, kept)
    if (edits.size === 0 && kept.skipped.length === 0) return
    const next = join(folder, "next")
    const onIndex = <A>(run: () => Promise<A>) => onDisk("The index could not be kept", run)
    yield* onIndex(async () => fs.writeFile(next, await editedIndex(found.cached, edits, since)))
    yield* skipPaths(options, { gitDir, workTree, index: next }, kept.skipped)
    yield* onIndex(() => fs.rename(next, cachedIndex(gitDir)))
  })

/** See `Git.refresh`. */
export const refreshed = (options: GitOptionsShape, { gitDir, workTree }: Omit<SnapshotRequest, "base">) =>
  Effect.zipRight(
    requireTrusted(gitDir),
    Effect.flatMap(readCone(gitDir), ({ settings }) =>
      // Exit code 1 only says that some file has changed since. The next snapshot reads that file again.
      Effect.asVoid(
        runGit({
          args: ["update-index", "-q", "--ignore-submodules", "--refresh"],
          gitDir,
          workTree,
          indexFile: cachedIndex(gitDir),
          settings,
          timeoutMs: options.localTimeoutMs
        })
      )
    )
  )
