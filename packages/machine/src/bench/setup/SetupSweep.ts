import { readdir, readFile, rename, stat } from "node:fs/promises"
import { basename, join } from "node:path"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { Clock, Effect } from "effect"
import { removeTree } from "../../files/RemoveTree.js"
import {
  isSnapshot,
  isTemporary,
  removing,
  sizeFile,
  snapshotsIn,
  spareFor,
  sparesOf,
  temporaryIn
} from "./SetupPlaces.js"
import { orWarn } from "./SetupSnapshots.js"

/** The time after which whoever worked on a part is gone, in milliseconds. */
const abandonedMs = 2 * 60 * 60_000

const dayMs = 86_400_000

const warn = orWarn("what a setup has left could not be removed")

/** Removes what setups have left and nobody has used for long, what is beyond the space that it may take, and the parts that crashes have left. */
export const setupSweep = Effect.map(CoreConfig, ({ dataDir, setupSnapshotBytes, setupSnapshotDays }) => {
  const root = snapshotsIn(dataDir)

  /** A session that copies it meanwhile sees that it has gone. */
  const remove = async (path: string): Promise<void> => {
    const gone = temporaryIn(root, removing)
    await rename(path, gone)
    await removeTree(gone)
  }

  /** The last use of a snapshot, and the bytes that it takes with its spare copies. One that cannot be read was never used. */
  const used = (name: string, spares: ReadonlyArray<string>) =>
    warn({ name, spares, usedMs: 0, bytes: 0 }, async () => {
      const directory = join(root, name)
      const [{ mtimeMs }, bytes] = await Promise.all([stat(directory), readFile(join(directory, sizeFile), "utf8")])
      return { name, spares, usedMs: mtimeMs, bytes: Number(bytes) * (1 + spares.length) }
    })

  return Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const names = yield* Effect.promise(() => readdir(root).catch((): Array<string> => []))
    for (const path of names.filter(isTemporary).map((name) => join(root, name))) {
      const madeMs = yield* warn(now, async () => (await stat(path)).mtimeMs)
      if (now - madeMs > abandonedMs) yield* warn(undefined, () => removeTree(path))
    }
    const there = new Set(names)
    const found = yield* Effect.forEach(names.filter(isSnapshot), (name) =>
      used(
        name,
        sparesOf(root, name).filter((spare) => there.has(basename(spare)))
      )
    )
    const alone = names.filter((name) => {
      const snapshot = spareFor(name)
      return snapshot !== undefined && !there.has(snapshot)
    })
    for (const name of alone) yield* warn(undefined, () => remove(join(root, name)))
    let left = setupSnapshotBytes
    for (const { bytes, name, spares, usedMs } of [...found].sort((one, other) => other.usedMs - one.usedMs)) {
      left -= bytes
      const isOld = now - usedMs > setupSnapshotDays * dayMs
      // Spare copies are for projects that are worked on.
      if (left < 0 || now - usedMs > dayMs) for (const spare of spares) yield* warn(undefined, () => remove(spare))
      if (left < 0 || isOld) yield* warn(undefined, () => remove(join(root, name)))
    }
  }).pipe(Effect.withSpan("setupSweep"))
})
