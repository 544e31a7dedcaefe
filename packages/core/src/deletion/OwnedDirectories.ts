import { readdir, rename, rm } from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { CoreConfig } from "../base/CoreConfig.js"
import { type DirectoryOwner, readOwner, setupMark, storeMark } from "../bench/OwnerMarks.js"
import { storesAt } from "../bench/StoresHere.js"
import { isSnapshot, removing, snapshotsIn, sparesOf, temporaryIn } from "../bench/setup/SetupPlaces.js"
import { removeTree } from "../files/RemoveTree.js"
import { onDisk } from "../git/GitError.js"
import { isStoreName, storesIn } from "../git/StorePlace.js"
import { JobError } from "../jobs/JobKind.js"
import * as SessionLock from "../worktrees/SessionLock.js"

/** A directory of this machine that several sessions share. */
interface OwnedDirectory {
  readonly kind: "setup" | "store"
  readonly name: string
  readonly owner: DirectoryOwner
}

const namesIn = (folder: string): Promise<ReadonlyArray<string>> => readdir(folder).catch((): Array<string> => [])

/** What setups have left and the object stores of this machine, by their owners. */
export const ownedDirectories = Effect.map(CoreConfig, ({ dataDir }) => {
  const setups = snapshotsIn(dataDir)
  const stores = storesIn(dataDir)
  const storeAt = storesAt(stores, SessionLock.makeShared)

  const list = Effect.promise(async () => {
    const found: Array<OwnedDirectory> = []
    for (const name of (await namesIn(setups)).filter(isSnapshot)) {
      const owner = await readOwner(setupMark(join(setups, name)))
      if (owner !== undefined) found.push({ kind: "setup", name, owner })
    }
    for (const name of (await namesIn(stores)).filter(isStoreName)) {
      const owner = await readOwner(storeMark(join(stores, name)))
      if (owner !== undefined) found.push({ kind: "store", name, owner })
    }
    return found
  })

  const removeSetup = (name: string) =>
    Effect.promise(async () => {
      for (const path of [...sparesOf(setups, name), join(setups, name)]) {
        const gone = temporaryIn(setups, removing)
        const isMoved = await rename(path, gone).then(
          () => true,
          () => false
        )
        if (isMoved) await removeTree(gone)
      }
    })

  const removeStore = (name: string) => {
    const { alone, path } = storeAt(name)
    const removal = onDisk("An object store could not be removed", async () => {
      await removeTree(path)
      await rm(storeMark(path), { force: true })
    })
    return Effect.mapError(
      alone(removal),
      ({ message }) => new JobError({ code: "disk_failed", message, retryable: true })
    )
  }

  return {
    list,
    /** Removes the directories whose owner is meant. */
    remove: Effect.fnUntraced(function* (isMeant: (owner: DirectoryOwner) => boolean) {
      for (const { kind, name, owner } of yield* list)
        if (isMeant(owner)) yield* kind === "setup" ? removeSetup(name) : removeStore(name)
    })
  }
})
