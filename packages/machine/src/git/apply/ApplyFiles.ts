import * as fs from "node:fs/promises"
import { Effect } from "effect"
import { latinNames } from "../../capture/index/Capture.js"
import { attempt, type BeneathError, inDirectory, removeFile, replaceFile, replaceLink } from "../../files/Beneath.js"
import type { RawChange } from "../../repository/read/Changes.js"

const pruneFolders = (workTree: string, folders: ReadonlyArray<Buffer>): Effect.Effect<void> => {
  const name = folders.at(-1)
  if (name === undefined) return Effect.void
  return inDirectory(workTree, folders.slice(0, -1), { create: false }, (directory) =>
    attempt(name, () => fs.rmdir(directory.entry(name)))
  ).pipe(
    Effect.andThen(Effect.suspend(() => pruneFolders(workTree, folders.slice(0, -1)))),
    // A folder that holds something else stays, and so do those above it.
    Effect.catchTag("BeneathError", () => Effect.void)
  )
}

export const removePath = (workTree: string, path: string): Effect.Effect<void, BeneathError> => {
  const names = latinNames(path)
  const folders = names.slice(0, -1)
  return Effect.zipRight(
    inDirectory(workTree, folders, { create: false }, (directory) => removeFile(directory, names.at(-1) ?? "")),
    pruneFolders(workTree, folders)
  )
}

/** `removePath` for one that a sparse workspace may not have. */
export const removeIfThere = (workTree: string, path: string): Effect.Effect<void, BeneathError> =>
  Effect.catchIf(
    removePath(workTree, path),
    ({ reason }) => reason === "missing" || reason === "not_a_directory" || reason === "link",
    () => Effect.void
  )

/** Removes the folder of a submodule, which is empty. */
export const removeFolder = (workTree: string, path: string): Effect.Effect<void> =>
  pruneFolders(workTree, latinNames(path))

/** Makes the folder of a submodule, without a checkout of it. */
export const makeFolder = (workTree: string, path: string): Effect.Effect<void, BeneathError> =>
  inDirectory(workTree, latinNames(path), { create: true }, () => Effect.void)

export const putFile = (workTree: string, change: RawChange, bytes: Uint8Array): Effect.Effect<void, BeneathError> => {
  const names = latinNames(change.path)
  const name = names.at(-1) ?? ""
  return inDirectory(workTree, names.slice(0, -1), { create: true }, (directory) =>
    change.newMode === "120000"
      ? replaceLink(directory, name, bytes)
      : replaceFile(directory, name, bytes, { mode: change.newMode === "100755" ? 0o755 : 0o644, exclusive: false })
  )
}
