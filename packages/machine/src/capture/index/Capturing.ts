import { randomBytes } from "node:crypto"
import * as fs from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { cachedIndex } from "../../repository/Repository.js"
import { type Cone, readCone } from "../../repository/run/Cone.js"
import { GitError, onDisk } from "../../repository/run/GitError.js"
import type { GitOptionsShape } from "../../repository/run/GitOptions.js"

/** A workspace to capture. */
export interface SnapshotRequest {
  readonly gitDir: string
  readonly workTree: string
  /** The commit that the workspace started from; null when it started empty. */
  readonly base: string | null
  /** The message of the commit. */
  readonly message?: string
  /** The snapshot is only looked at and never pinned. Its objects may be lost with the power. */
  readonly passing?: boolean
  /** Pins the commit as `refs/reins/<keepAs>`, as `Git.keep` does. */
  readonly keepAs?: string
  /** The snapshot holds what the workspace has, also what was adopted as its baseline. */
  readonly whole?: boolean
}

/** A capture that runs, with a folder of its own in the git directory. */
export interface Capturing {
  readonly options: GitOptionsShape
  readonly request: SnapshotRequest
  readonly folder: string
  /** The private copy of the cached index, which becomes the cached index of the next snapshot. */
  readonly index: string
  readonly cone: Cone
  /** The time of the file system at which it began, in nanoseconds. Files were read after that. */
  readonly since: bigint
}

// A hard link suffices as a copy, because git replaces an index file and never writes into it. It also keeps the file times.
const seed = (request: SnapshotRequest, index: string): Promise<void> =>
  fs.link(cachedIndex(request.gitDir), index).catch((cause: unknown) => {
    if (!(cause instanceof Error && "code" in cause && cause.code === "ENOENT")) throw cause
  })

/** Makes the folder of a capture, with the cached index when it is wanted, and removes it afterwards. */
export const withCapturing = <A>(
  options: GitOptionsShape,
  request: SnapshotRequest,
  cached: boolean,
  use: (capturing: Capturing) => Effect.Effect<A, GitError>
): Effect.Effect<A, GitError> =>
  Effect.acquireUseRelease(
    onDisk("The git directory could not be written", async () => {
      const folder = join(request.gitDir, "reins-tmp", randomBytes(9).toString("hex"))
      await fs.mkdir(folder, { recursive: true, mode: 0o700 })
      const since = (await fs.stat(folder, { bigint: true })).mtimeNs
      const capturing = { options, request, folder, since, index: join(folder, "index") }
      if (cached) await seed(request, capturing.index)
      return capturing
    }),
    (capturing) => Effect.flatMap(readCone(request.gitDir), (cone) => use({ ...capturing, cone })),
    (capturing) => Effect.promise(() => fs.rm(capturing.folder, { recursive: true, force: true }))
  )

/** Fails where the workspace folder is not there. */
export const requireWorkTree = (workTree: string): Effect.Effect<void, GitError> =>
  Effect.tryPromise({
    try: async () => {
      if (!(await fs.stat(workTree)).isDirectory()) throw new Error("not a directory")
    },
    catch: () =>
      new GitError({ kind: "not_found", message: "The workspace folder is not there: restore the workspace first." })
  })
