import { execFile } from "node:child_process"
import { mkdir, rename, stat, utimes, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { cutText } from "@reins/base/base/CutText"
import { failpoint } from "@reins/base/base/Failpoint"
import { Effect } from "effect"
import { type CopyOptions, copyTree } from "../../files/CopyTree.js"
import { bytesBelow } from "../../files/DiskUse.js"
import { removeTree } from "../../files/RemoveTree.js"
import { Git } from "../../git/Git.js"
import { type DirectoryOwner, markOwner, setupMark } from "../OwnerMarks.js"
import type { SessionPaths } from "../SessionPaths.js"
import { making, sizeFile, snapshotsIn, sparesOf, taken, temporaryIn } from "./SetupPlaces.js"

/** The places of the files that a setup fills. */
export type SetupTrees = Pick<SessionPaths, "workTree" | "home" | "gitDir">

/** The parts of a session by the names that they have in a snapshot. */
const partsOf = ({ gitDir, home, workTree }: SetupTrees) =>
  [
    ["workspace", workTree],
    ["home", home],
    ["trusted.git", gitDir]
  ] as const

/** Tells what could not be done, which costs time later and nothing else. */
export const orWarn =
  (what: string) =>
  <A>(otherwise: A, run: (signal: AbortSignal) => Promise<A>): Effect.Effect<A> =>
    Effect.catchAll(Effect.tryPromise(run), ({ error }) =>
      Effect.as(
        Effect.logWarning(what, { cause: error instanceof Error ? cutText(error.message, 2000) : "" }),
        otherwise
      )
    )

const isAbsent = (cause: unknown): boolean => cause instanceof Error && "code" in cause && cause.code === "ENOENT"

const removeAll = async (trees: SetupTrees): Promise<void> => {
  for (const [, path] of partsOf(trees)) await removeTree(path)
}

/** Brings a tree to the disk, so that no power failure leaves a snapshot with empty files. Machines without the command have no such promise. */
const flush = (directory: string): Promise<unknown> =>
  promisify(execFile)("sync", ["-f", directory]).catch(() => undefined)

const identityOf = (directory: string) =>
  stat(directory).then(
    ({ ino }) => ino,
    () => undefined
  )

/** Copies each tree to where it belongs. No copy goes on once this has failed. */
const copyAll = async (
  pairs: ReadonlyArray<readonly [from: string, to: string]>,
  options: CopyOptions
): Promise<void> => {
  const ended = await Promise.allSettled(pairs.map(([from, to]) => copyTree(from, to, options)))
  for (const each of ended) if (each.status === "rejected") throw each.reason
}

/** Copies a snapshot to paths where nothing is. False where there is none. */
const copyOf = async (snapshot: string, trees: SetupTrees, options: CopyOptions): Promise<boolean> => {
  const before = await identityOf(snapshot)
  if (before === undefined) return false
  try {
    await copyAll(
      partsOf(trees).map(([name, path]) => [join(snapshot, name), path]),
      options
    )
    // One that was removed meanwhile may have given only a part.
    if ((await identityOf(snapshot)) === before) return true
    throw new Error("the snapshot was removed while it was copied")
  } catch (cause) {
    await removeAll(trees)
    throw cause
  }
}

/** Gets a spare copy of a snapshot under a name of its own. False where there is none. */
const claimSpare = async (root: string, key: string, mine: string): Promise<boolean> => {
  for (const spare of sparesOf(root, key)) {
    try {
      // Only one can move it.
      await rename(spare, mine)
      return true
    } catch (cause) {
      if (!isAbsent(cause)) throw cause
    }
  }
  return false
}

/** Moves a spare copy of a snapshot to paths where nothing is. False where there is none. */
const moveSpare = async (root: string, key: string, trees: SetupTrees): Promise<boolean> => {
  const mine = temporaryIn(root, taken)
  if (!(await claimSpare(root, key, mine))) return false
  try {
    for (const [name, path] of partsOf(trees)) await rename(join(mine, name), path)
  } catch (cause) {
    await removeAll(trees)
    throw cause
  } finally {
    await removeTree(mine)
  }
  return true
}

/** Makes the spare copies of snapshots in the background, one after the other, for as long as the scope is open. */
const makeSpare = Effect.gen(function* () {
  const root = snapshotsIn((yield* CoreConfig).dataDir)
  const git = yield* Git
  const scope = yield* Effect.scope
  const busy = new Set<string>()
  const warn = orWarn("no spare copy could be made of what a setup has left")

  const makeSpare = Effect.fnUntraced(function* (key: string, spare: string) {
    const made = temporaryIn(root, making)
    const [workTree, home, gitDir] = [join(made, "workspace"), join(made, "home"), join(made, "trusted.git")]
    return yield* warn(false, async (signal) => {
      await mkdir(made, { recursive: true, mode: 0o700 })
      return copyOf(join(root, key), { workTree, home, gitDir }, { signal, isPatient: true })
    }).pipe(
      // The times of the files stay what they are when the copy is moved.
      Effect.tap((isThere) => (isThere ? git.refresh({ workTree, gitDir }) : Effect.void)),
      Effect.flatMap((isThere) =>
        warn(false, async () => {
          if (isThere) await rename(made, spare)
          // The snapshot may have been removed meanwhile, and what was copied of it goes with it.
          const isKept = isThere && (await identityOf(join(root, key))) !== undefined
          if (!isKept) await removeTree(isThere ? spare : made)
          return isKept
        })
      ),
      Effect.catchAll(({ message }) => warn(false, () => Promise.reject(new Error(message))))
    )
  })

  /** Ends when none is missing, also of those that were taken meanwhile, or when one cannot be made. */
  const makeSpares = Effect.fnUntraced(function* (key: string) {
    if (busy.has(key)) return
    busy.add(key)
    const missing = async () => {
      for (const spare of sparesOf(root, key)) if ((await identityOf(spare)) === undefined) return spare
      return undefined
    }
    const makeNext = Effect.flatMap(Effect.promise(missing), (spare) =>
      spare === undefined ? Effect.succeed(false) : makeSpare(key, spare)
    )
    yield* Effect.repeat(makeNext, { while: (isMade) => isMade }).pipe(
      Effect.ensuring(Effect.sync(() => busy.delete(key)))
    )
  })
  return (key: string) => Effect.asVoid(Effect.forkIn(makeSpares(key), scope))
})

/**
 * The snapshots of setups: copies of the workspace, the home and the trusted git directory of the session that ran them. A snapshot appears
 * whole or not at all, and never changes. It shares no file with a session. Beside it stand two spare copies, of which the next session
 * only has to move one to its place.
 */
export const setupSnapshots = Effect.gen(function* () {
  const root = snapshotsIn((yield* CoreConfig).dataDir)
  const git = yield* Git
  const makeSpares = yield* makeSpare
  const warn = orWarn("what a setup has left could not be copied, so it runs again")

  return {
    /** The file that a process locks while it makes a snapshot. Some keys share a file. */
    lockOf: (key: string): string => join(root, `${key.slice(0, 3)}.lock`),
    /** Gives a copy of a snapshot to paths where nothing is. False where there is none, and nothing is at the paths then. */
    take: Effect.fnUntraced(function* (key: string, trees: SetupTrees) {
      const snapshot = join(root, key)
      const isMoved = yield* warn(false, () => moveSpare(root, key, trees))
      const isTaken = isMoved || (yield* warn(false, (signal) => copyOf(snapshot, trees, { signal })))
      if (!isTaken) return false
      if (!isMoved) yield* git.refresh(trees)
      yield* warn(undefined, () => utimes(snapshot, new Date(), new Date()))
      yield* makeSpares(key)
      return true
    }),
    /** Keeps the trees of a session, in which nobody works, for others. What cannot be kept is not, and the log says so. */
    publish: Effect.fnUntraced(function* (key: string, trees: SetupTrees, owner: DirectoryOwner) {
      const warn = orWarn("what a setup has left could not be kept, so it runs again for the next session")
      const made = temporaryIn(root, making)
      const isCopied = yield* warn(false, async (signal) => {
        await mkdir(made, { recursive: true, mode: 0o700 })
        await copyAll(
          partsOf(trees).map(([name, path]) => [path, join(made, name)]),
          { signal }
        )
        return true
      })
      yield* failpoint("setup.copied")
      if (!isCopied) return yield* warn(undefined, () => removeTree(made))
      const bytes = yield* bytesBelow(made)
      yield* warn(undefined, async () => {
        await writeFile(join(made, sizeFile), String(bytes))
        await markOwner(setupMark(made), owner)
        await flush(made)
        // Another process may have been first, and both are as good.
        await rename(made, join(root, key)).catch(() => removeTree(made))
      })
      yield* makeSpares(key)
    })
  }
})
