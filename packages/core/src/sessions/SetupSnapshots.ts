import { execFile } from "node:child_process"
import { randomBytes } from "node:crypto"
import { mkdir, readdir, readFile, rename, stat, utimes, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { Clock, Effect } from "effect"
import { CoreConfig } from "../base/CoreConfig.js"
import { failpoint } from "../base/Failpoint.js"
import { copyTree } from "../files/CopyTree.js"
import { bytesBelow } from "../files/DiskUse.js"
import { removeTree } from "../files/RemoveTree.js"
import type { SessionPaths } from "./SessionPaths.js"

type Trees = Pick<SessionPaths, "workTree" | "home" | "gitDir">

/** The parts of a snapshot by the names that they have in it. */
const partsOf = ({ gitDir, home, workTree }: Trees) =>
  [
    ["workspace", workTree],
    ["home", home],
    ["trusted.git", gitDir]
  ] as const

/** The bytes that a snapshot takes. The file comes last, so a snapshot without it is none. */
const sizeFile = "bytes"

/** Names that begin so belong to no snapshot: one that is being made, and one that is being removed. */
const making = ".making-"
const removing = ".removing-"

/** The time after which whoever made a part of a snapshot is gone, in milliseconds. */
const abandonedMs = 2 * 60 * 60_000

const dayMs = 86_400_000

/** Tells what could not be done, which costs time later and nothing else. */
const orWarn =
  (what: string) =>
  <A>(otherwise: A, run: () => Promise<A>): Effect.Effect<A> =>
    Effect.catchAll(Effect.tryPromise(run), ({ error }) =>
      Effect.as(
        Effect.logWarning(what, { cause: error instanceof Error ? error.message.slice(0, 2000) : "" }),
        otherwise
      )
    )

const removeAll = async (trees: Trees): Promise<void> => {
  for (const [, path] of partsOf(trees)) await removeTree(path)
}

/** Brings a tree to the disk, so that no power failure leaves a snapshot with empty files. Machines without the command have no such promise. */
const flush = (directory: string): Promise<unknown> =>
  promisify(execFile)("sync", ["-f", directory]).catch(() => undefined)

/**
 * What setups have left, as copies of the workspace, the home and the trusted git directory of the session that ran them. A snapshot appears
 * whole or not at all, and never changes. It shares no file with a session.
 */
export const setupSnapshots = Effect.map(CoreConfig, ({ dataDir, setupSnapshotBytes, setupSnapshotDays }) => {
  const root = join(dataDir, "setups")
  const temporary = (kind: string) => join(root, `${kind}${randomBytes(9).toString("hex")}`)

  /** Removes a snapshot. Whoever copies it meanwhile sees that it has gone. */
  const remove = async (name: string): Promise<void> => {
    const gone = temporary(removing)
    await rename(join(root, name), gone)
    await removeTree(gone)
  }

  const identityOf = (directory: string) =>
    stat(directory).then(
      ({ ino }) => ino,
      () => undefined
    )

  const copied = async (key: string, trees: Trees): Promise<boolean> => {
    const snapshot = join(root, key)
    const before = await identityOf(snapshot)
    if (before === undefined) return false
    try {
      await Promise.all(partsOf(trees).map(([name, path]) => copyTree(join(snapshot, name), path)))
      // One that was removed meanwhile may have given only a part.
      if ((await identityOf(snapshot)) !== before) throw new Error("the snapshot was removed while it was copied")
      await utimes(snapshot, new Date(), new Date())
      return true
    } catch (cause) {
      await removeAll(trees)
      throw cause
    }
  }

  const used = async (name: string) => {
    const directory = join(root, name)
    const [{ mtimeMs }, bytes] = await Promise.all([stat(directory), readFile(join(directory, sizeFile), "utf8")])
    return { name, usedMs: mtimeMs, bytes: Number(bytes) }
  }

  return {
    /** The file that a process locks while it makes a snapshot. Some keys share a file. */
    lockOf: (key: string): string => join(root, `${key.slice(0, 3)}.lock`),
    /** Copies a snapshot to paths where nothing is. False where there is none, and nothing is at the paths then. */
    take: (key: string, trees: Trees): Effect.Effect<boolean> =>
      orWarn("what a setup has left could not be copied, so it runs again")(false, () => copied(key, trees)),
    /** Keeps the trees of a session, in which nobody works, for others. What cannot be kept is not, and the log says so. */
    publish: (key: string, trees: Trees): Effect.Effect<void> =>
      Effect.gen(function* () {
        const warn = orWarn("what a setup has left could not be kept, so it runs again for the next session")
        const made = temporary(making)
        const isCopied = yield* warn(false, async () => {
          await mkdir(made, { recursive: true, mode: 0o700 })
          await Promise.all(partsOf(trees).map(([name, path]) => copyTree(path, join(made, name))))
          return true
        })
        yield* failpoint("setup.copied")
        const bytes = isCopied ? yield* bytesBelow(made) : 0
        yield* warn(undefined, async () => {
          if (isCopied) {
            await writeFile(join(made, sizeFile), String(bytes))
            await flush(made)
            // Another process may have been first, and both are as good.
            await rename(made, join(root, key)).catch(() => removeTree(made))
          } else await removeTree(made)
        })
      }),
    /** Removes the snapshots that nobody has used for long, those beyond the space that they may take, and what crashes have left. */
    sweep: Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const names = yield* Effect.promise(() => readdir(root).catch((): Array<string> => []))
      const warn = orWarn("what a setup has left could not be removed")
      for (const name of names.filter((each) => each.startsWith(making) || each.startsWith(removing))) {
        const madeMs = yield* warn(now, async () => (await stat(join(root, name))).mtimeMs)
        if (now - madeMs > abandonedMs) yield* warn(undefined, () => removeTree(join(root, name)))
      }
      const snapshots = names.filter((each) => /^[0-9a-f]{64}$/.test(each))
      const found = yield* Effect.forEach(snapshots, (name) => warn({ name, usedMs: 0, bytes: 0 }, () => used(name)))
      let left = setupSnapshotBytes
      for (const { bytes, name, usedMs } of [...found].sort((one, other) => other.usedMs - one.usedMs)) {
        left -= bytes
        if (left < 0 || now - usedMs > setupSnapshotDays * dayMs) yield* warn(undefined, () => remove(name))
      }
    }).pipe(Effect.withSpan("setupSnapshots.sweep"))
  }
})
