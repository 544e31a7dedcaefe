import { randomBytes } from "node:crypto"
import { readdir, rename, rm, stat } from "node:fs/promises"
import { join } from "node:path"
import { Clock, Effect } from "effect"
import { removeTree } from "../files/RemoveTree.js"
import { readStore } from "../repository/objects/Alternates.js"
import { isStoreName, storesIn } from "../repository/objects/StorePlace.js"
import { onDisk } from "../repository/run/GitError.js"
import type { MakeFileLock } from "./FileLocks.js"
import { storeMark } from "./OwnerMarks.js"
import { objectsIn, sessionsIn } from "./SessionPaths.js"
import { storesAt } from "./StoresHere.js"
import { snapshotsIn } from "./setup/SetupPlaces.js"

/** A store that no session names is kept for so long after its last use. */
const keptMs = 7 * 86_400_000

const dropped = "dropped-"

const namesIn = (folder: string): Promise<ReadonlyArray<string>> =>
  readdir(folder).catch((cause: unknown) => {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return []
    throw cause
  })

/** The stores that the sessions below a data directory name, each with the ids of those sessions. Rejects where one of them cannot be read. */
export const storesNamed = async (dataDir: string): Promise<ReadonlyMap<string, ReadonlyArray<string>>> => {
  const named = new Map<string, Array<string>>()
  const root = sessionsIn(dataDir)
  for (const name of await namesIn(root)) {
    const store = await readStore(join(root, name, "trusted.git"))
    if (store === null) continue
    const others = named.get(store)
    if (others === undefined) named.set(store, [name])
    else others.push(name)
  }
  return named
}

/** The same for what is no session yet, or any more. */
const namedBeside = async (dataDir: string): Promise<ReadonlySet<string>> => {
  const named = new Set<string>()
  for (const root of [snapshotsIn(dataDir), objectsIn(dataDir)])
    for (const name of await namesIn(root)) {
      const store = await readStore(join(root, name, "trusted.git"))
      if (store !== null) named.add(store)
    }
  return named
}

/** Drops the object stores that no session of this machine names any more, and what a drop that was broken off has left. */
export const storeSweep = (dataDir: string, makeLock: MakeFileLock): Effect.Effect<void> => {
  const root = storesIn(dataDir)
  const at = storesAt(root, makeLock)
  const onRoot = <A>(run: () => Promise<A>) => onDisk("Object stores could not be dropped", run)

  const isNamed = async (path: string): Promise<boolean> => {
    // A session takes over what a setup has left while the other places are looked at, never the other way.
    if ((await storesNamed(dataDir)).has(path) || (await namedBeside(dataDir)).has(path)) return true
    return (await storesNamed(dataDir)).has(path)
  }

  const drop = (path: string, now: number) =>
    onRoot(async () => {
      const { mtimeMs } = await stat(path)
      if (now - mtimeMs < keptMs || (await isNamed(path))) return
      const gone = join(root, `${dropped}${randomBytes(9).toString("hex")}`)
      await rename(path, gone)
      // An agent that is just being started may have it mounted.
      if ((await stat(gone)).mtimeMs !== mtimeMs || (await isNamed(path))) return rename(gone, path)
      await removeTree(gone)
      await rm(storeMark(path), { force: true })
    })

  return Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const names = yield* onRoot(() => namesIn(root))
    for (const name of names.filter((name) => name.startsWith(dropped)))
      yield* onRoot(() => removeTree(join(root, name)))
    for (const name of names.filter(isStoreName)) {
      const { alone, path } = at(name)
      if (now - (yield* onRoot(() => stat(path))).mtimeMs >= keptMs) yield* alone(drop(path, now))
    }
  }).pipe(
    Effect.catchAll(({ message }) => Effect.logWarning(message)),
    Effect.withSpan("storeSweep")
  )
}
