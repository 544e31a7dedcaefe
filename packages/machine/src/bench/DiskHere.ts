import { existsSync } from "node:fs"
import { mkdir, readdir, rename } from "node:fs/promises"
import { basename, join } from "node:path"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import type { SessionId } from "@reins/base/domain/Ids"
import { Effect } from "effect"
import { bytesBelow } from "../files/DiskUse.js"
import { removeTree } from "../files/RemoveTree.js"
import { storesIn } from "../repository/objects/StorePlace.js"
import type { Disk } from "./Disk.js"
import { FileLocks } from "./FileLocks.js"
import { ownedDirectories } from "./OwnedDirectories.js"
import { objectsIn, sessionPaths, sessionsIn } from "./SessionPaths.js"
import { setupSweep } from "./setup/SetupSweep.js"

const asideIn = (dataDir: string): string => join(dataDir, "lost+found")

const namesIn = (folder: string): Promise<ReadonlyArray<string>> => readdir(folder).catch(() => [])

/** The id that the name of a directory begins with. Files that were moved aside have the epoch of their place behind it. */
const idIn = (name: string): string => name.split(/[-.]/, 1)[0] ?? ""

const freeName = async (directory: string, name: string): Promise<string> => {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  for (let copy = 0; ; copy++) {
    const path = join(directory, copy === 0 ? name : `${name}.${copy}`)
    if (existsSync(path)) continue
    await mkdir(path, { mode: 0o700 })
    return path
  }
}

const setAside = async (dataDir: string, session: SessionId, epoch: number): Promise<string | null> => {
  const { gitDir, home, restoring, workTree } = sessionPaths(dataDir, session)
  const found = [workTree, gitDir, home].filter(existsSync)
  if (found.length === 0 || existsSync(restoring)) return null
  const target = await freeName(asideIn(dataDir), `${session}-${epoch}`)
  for (const path of found) await rename(path, join(target, basename(path)))
  return target
}

const discard = async (dataDir: string, session: SessionId): Promise<void> => {
  const { gitDir, home, making, restoring, setupOwed, workTree } = sessionPaths(dataDir, session)
  // The files that agents wrote go first.
  for (const path of [workTree, making, home, gitDir, setupOwed, restoring]) await removeTree(path)
}

const forget = async (dataDir: string, session: SessionId): Promise<void> => {
  await discard(dataDir, session)
  await removeTree(sessionPaths(dataDir, session).root)
  const aside = await namesIn(asideIn(dataDir))
  for (const name of aside.filter((each) => idIn(each) === session)) await removeTree(join(asideIn(dataDir), name))
}

/** The disk of this machine. */
export const diskHere = Effect.gen(function* () {
  const { dataDir } = yield* CoreConfig
  const makeLock = yield* FileLocks
  const setups = yield* setupSweep
  const counts = yield* makeShares(dataDir)
  const disk: Disk = {
    list: Effect.promise(async () => {
      const [present, aside] = await Promise.all([namesIn(sessionsIn(dataDir)), namesIn(asideIn(dataDir))])
      return { present, aside: [...new Set(aside.map(idIn))] }
    }),
    discard: (session) => Effect.promise(() => discard(dataDir, session)),
    forget: (session) => Effect.promise(() => forget(dataDir, session)),
    setAside: (session, epoch) => Effect.promise(() => setAside(dataDir, session, epoch)),
    dropScratch: Effect.promise(() => removeTree(objectsIn(dataDir))),
    sweep: Effect.gen(function* () {
      yield* setups
      // A machine without object stores loads nothing of them.
      if (!existsSync(storesIn(dataDir))) return
      const { storeSweep } = yield* Effect.promise(() => import("./StoreSweep.js"))
      yield* storeSweep(dataDir, makeLock)
    }),
    ...ownedDirectories(dataDir, makeLock),
    bytesOf: (session) => bytesBelow(sessionPaths(dataDir, session).root),
    shares: counts
  }
  return disk
})

/** The objects that sessions share, as they were counted last. */
interface Shared {
  /** The sessions of each store, and the bytes that each of them has of it. */
  readonly stores: ReadonlyMap<string, { readonly sessions: number; readonly share: number }>
  /** The bytes that each session has of its store. */
  readonly shares: ReadonlyMap<string, number>
}

/** Divides each store evenly among the sessions that name it, so that all of them together have it once. */
const divided = Effect.fnUntraced(function* (
  named: ReadonlyMap<string, ReadonlyArray<string>>,
  before: Shared | undefined,
  changed: ReadonlySet<string>
) {
  const stores = new Map<string, { readonly sessions: number; readonly share: number }>()
  const shares = new Map<string, number>()
  for (const [store, ids] of named) {
    const known = before?.stores.get(store)
    const isKnown = known?.sessions === ids.length && ids.every((id) => before?.shares.has(id) && !changed.has(id))
    const share = known && isKnown ? known.share : Math.round((yield* bytesBelow(store)) / ids.length)
    stores.set(store, { sessions: ids.length, share })
    for (const id of ids) shares.set(id, share)
  }
  return { stores, shares } satisfies Shared
})

/** `Disk.shares`. */
const makeShares = (dataDir: string) =>
  Effect.sync(() => {
    let before: Shared | undefined
    return Effect.fnUntraced(function* (changed: ReadonlyArray<SessionId>) {
      const { storesNamed } = yield* Effect.promise(() => import("./StoreSweep.js"))
      const now: Shared = yield* divided(
        yield* Effect.promise(() => storesNamed(dataDir)),
        before,
        new Set<string>(changed)
      )
      before = now
      return Object.fromEntries(now.shares)
    })
  })
