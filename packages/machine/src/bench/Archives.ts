import { existsSync } from "node:fs"
import { readdir } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import { SessionId } from "@reins/base/domain/Ids"
import { Effect } from "effect"
import { removeTree } from "../files/RemoveTree.js"
import { type DiskEntry, readOne, readTree, type TreeOptions, treeState } from "../files/TreeReader.js"
import { namedStore, nameStore, readStore } from "../repository/objects/Alternates.js"
import { storesIn } from "../repository/objects/StorePlace.js"
import type { MakeFileLock } from "./FileLocks.js"
import { sessionPaths, sessionsIn } from "./SessionPaths.js"
import { storesAt } from "./StoresHere.js"

/**
 * The order is references, single objects, packs. The objects that a reference names are then read after it, and git moves objects into packs,
 * never back. Temporary files of git are left out, above all its locks, which nobody would remove after a restore.
 */
const trustedGit = (name: string): TreeOptions => ({
  leaveOut: (path) => path.endsWith(".lock") || path === `${name}/reins-making` || /\/(?:tmp_|\.tmp-)[^/]*$/.test(path),
  order: (path) => (path === `${name}/objects` ? 1 : path === `${name}/objects/pack` ? 2 : 0)
})

/** The files of all sessions below a data directory, for a backup that reads them and a restore that puts them in place. */
export const archivesIn = (dataDir: string) => {
  const pathsOf = (session: SessionId) => sessionPaths(dataDir, session)

  async function* entries(
    session: SessionId,
    hasFiles: boolean,
    skipped: (path: string) => void
  ): AsyncGenerator<DiskEntry> {
    const { gitDir, home, setupOwed, workTree } = pathsOf(session)
    yield* readTree(gitDir, basename(gitDir), { ...trustedGit(basename(gitDir)), skipped })
    if (!hasFiles) return
    yield* readTree(workTree, basename(workTree), { skipped })
    yield* readTree(home, basename(home), { skipped })
    if (existsSync(setupOwed)) yield* readOne(setupOwed, basename(setupOwed))
  }

  const list = Effect.promise(() => readdir(sessionsIn(dataDir)).catch((): Array<string> => []))

  return {
    /** The names of the directories of sessions. One may be of a session that no row tells of. */
    list,
    hasFiles: (session: SessionId): boolean => existsSync(pathsOf(session).workTree),
    hasObjects: (session: SessionId): boolean => existsSync(pathsOf(session).gitDir),
    /** The files of a session, and its objects. `skipped` is called with the path of each that cannot be read. */
    entries,
    /** Differs once the agent of a session has written to its home. */
    homeState: (session: SessionId) => Effect.promise(() => treeState(pathsOf(session).home)),
    /** The name of the object store below the same data directory that a session needs; null for none. */
    storeOf: (session: SessionId) =>
      Effect.promise(async () => {
        const store = await readStore(pathsOf(session).gitDir)
        return store !== null && dirname(store) === storesIn(dataDir) ? basename(store) : null
      }),
    /** The entries of an object store in a directory of that name. Whoever reads them does it in `alone`, so that nobody joins packs meanwhile. */
    store: (name: string, prefix: string, makeLock: MakeFileLock) => {
      const { alone, path } = storesAt(storesIn(dataDir), makeLock)(name)
      return { alone, entries: readTree(path, prefix, trustedGit(prefix)) }
    },
    /** Removes what the agent of a session has written, and leaves its objects. */
    removeFiles: (session: SessionId) =>
      Effect.promise(async () => {
        for (const path of [pathsOf(session).home, pathsOf(session).workTree]) await removeTree(path)
      }),
    /** Removes the directory of a session. */
    remove: (name: string) => Effect.promise(() => removeTree(join(sessionsIn(dataDir), name))),
    /** Lets every session name its object store where the stores of another data directory are going to be. */
    moveStores: Effect.fnUntraced(function* (to: string) {
      const { nameForAgent } = yield* Effect.promise(() => import("../capture/agent/AgentAlternates.js"))
      for (const id of yield* list) {
        const { gitDir, workTree } = pathsOf(SessionId.make(id))
        const store = yield* namedStore(gitDir)
        if (store === null) continue
        const placed = join(storesIn(to), basename(store))
        yield* nameStore(gitDir, placed)
        if (existsSync(workTree)) yield* nameForAgent(workTree, placed)
      }
    })
  }
}

/** See `archivesIn`. */
export type Archives = ReturnType<typeof archivesIn>
