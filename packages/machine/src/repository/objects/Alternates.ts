import * as fs from "node:fs/promises"
import { dirname, join } from "node:path"
import type { Effect } from "effect"
import { type GitError, onDisk } from "../run/GitError.js"

// Names an object store in a repository, as one of its alternates (gitrepository-layout(5)). The service obeys the file of a trusted directory and
// never that of an agent.

/** The directory of an object store that the agent reads. */
export const objectsOfStore = (store: string): string => join(store, "objects")

/** True for a line of alternates that names an object store. */
export const isStoreLine = (line: string): boolean => /(?:^|\/)object-stores\/[0-9a-f]{64}\/objects$/.test(line)

const file = (gitDir: string): string => join(gitDir, "objects", "info", "alternates")

const isAbsent = (cause: unknown): boolean =>
  cause instanceof Error && "code" in cause && (cause.code === "ENOENT" || cause.code === "ENOTDIR")

/** The object store that a trusted git directory names; null for none. Rejects where that cannot be told. */
export const readStore = async (gitDir: string): Promise<string | null> => {
  try {
    const line = (await fs.readFile(file(gitDir), "utf8")).split("\n").find(isStoreLine)
    return line === undefined ? null : dirname(line)
  } catch (cause) {
    if (isAbsent(cause)) return null
    throw cause
  }
}

/** The object store that a trusted git directory names; null for none. */
export const namedStore = (gitDir: string): Effect.Effect<string | null, GitError> =>
  onDisk("The object store of the session could not be told", () => readStore(gitDir))

/** Names a store in a trusted git directory, in one step that a loss of power does not take back. */
export const nameStore = (gitDir: string, store: string): Effect.Effect<void, GitError> =>
  onDisk("The object store could not be named", async () => {
    await fs.mkdir(dirname(file(gitDir)), { recursive: true })
    await fs.writeFile(`${file(gitDir)}.new`, `${objectsOfStore(store)}\n`, { flush: true })
    await fs.rename(`${file(gitDir)}.new`, file(gitDir))
  })

/** The mark of a store that was not filled to the end. */
export const unfinished = (path: string): string => join(path, "reins-unfinished")

/** An object that the store should have could not be read. */
export const doubted = (path: string): string => join(path, "reins-doubted")

/** True where something is at a path. */
export const isAtPath = (path: string): Promise<boolean> =>
  fs.access(path).then(
    () => true,
    () => false
  )

/** Makes the directory of a store, so that it can be mounted, and notes its use, so that nobody drops it meanwhile. */
export const reserveStore = async (path: string): Promise<void> => {
  const now = new Date()
  const reserve = async () => {
    await fs.mkdir(objectsOfStore(path), { recursive: true, mode: 0o700 })
    await fs.utimes(path, now, now)
  }
  // Somebody may have dropped it between the two.
  await reserve().catch(reserve)
}

/** False for a store that has to be filled anew before a session can rely on it. */
export const isReliable = async (path: string): Promise<boolean> =>
  (await isAtPath(join(path, "HEAD"))) && (await isAtPath(objectsOfStore(path))) && !(await isAtPath(doubted(path)))
