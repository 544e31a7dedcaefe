import { readdir, rename, rm } from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { removeTree } from "../files/RemoveTree.js"
import { isStoreName, storesIn } from "../repository/objects/StorePlace.js"
import { onDisk } from "../repository/run/GitError.js"
import type { Disk } from "./Disk.js"
import type { MakeFileLock } from "./FileLocks.js"
import { type DirectoryOwner, readOwner, setupMark, storeMark } from "./OwnerMarks.js"
import { storesAt } from "./StoresHere.js"
import { isSnapshot, removing, snapshotsIn, sparesOf, temporaryIn } from "./setup/SetupPlaces.js"

/** A directory of this machine that several sessions share. */
interface OwnedDirectory {
  readonly kind: "setup" | "store"
  readonly name: string
  readonly owner: DirectoryOwner
}

const namesIn = (folder: string): Promise<ReadonlyArray<string>> => readdir(folder).catch((): Array<string> => [])

/** What setups have left and the object stores of this machine, by their owners. */
export const ownedDirectories = (dataDir: string, makeLock: MakeFileLock): Pick<Disk, "owners" | "removeOwned"> => {
  const setups = snapshotsIn(dataDir)
  const stores = storesIn(dataDir)
  const storeAt = storesAt(stores, makeLock)

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
    return alone(removal)
  }

  return {
    owners: Effect.map(list, (all) => all.map(({ owner }) => owner)),
    removeOwned: Effect.fnUntraced(function* (ids) {
      for (const { kind, name, owner } of yield* list)
        if (ids.includes(owner.workspace_id) || ids.includes(owner.project_id ?? ""))
          yield* kind === "setup" ? removeSetup(name) : removeStore(name)
    })
  }
}
