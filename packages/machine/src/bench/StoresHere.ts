import { createHash } from "node:crypto"
import { join } from "node:path"
import { limited } from "@reins/base/base/Limited"
import type { SessionId } from "@reins/base/domain/Ids"
import { Deferred, Effect } from "effect"
import { isReliable, objectsOfStore, readStore, reserveStore } from "../repository/objects/Alternates.js"
import type { ObjectStore } from "../repository/objects/ObjectStore.js"
import { storesIn } from "../repository/objects/StorePlace.js"
import { GitError, onDisk } from "../repository/run/GitError.js"
import type { MakeFileLock } from "./FileLocks.js"
import { markOwner, storeMark } from "./OwnerMarks.js"
import { sessionPaths } from "./SessionPaths.js"

/** The longest wait for another session that fills the same store. A process that hangs holds it without end. */
const patience = "15 minutes"

const tooLong = new GitError({
  kind: "internal",
  message: `Another session has held the object store of the repository for ${patience}.`
})

/** The file that a process locks while it fills or drops a store. Some stores share a file. */
const lockIn = (root: string) => (name: string) => join(root, `${name.slice(0, 3)}.lock`)

/** The object store at a path, with the lock that holds against other processes on the data directory. */
export const storesAt = (root: string, makeLock: MakeFileLock): ((name: string) => ObjectStore) => {
  const lock = makeLock(lockIn(root))
  return (name) => ({
    path: join(root, name),
    alone: (use) =>
      Effect.flatMap(Deferred.make<void>(), (began) => {
        const outOfPatience = Effect.sleep(patience).pipe(
          Effect.zipRight(Deferred.isDone(began)),
          Effect.flatMap((isHeld) => (isHeld ? Effect.never : tooLong)),
          Effect.interruptible
        )
        return limited(
          lock(name, Effect.zipRight(Deferred.succeed(began, undefined), use)),
          Effect.raceFirst(outOfPatience)
        )
      })
  })
}

/** The name of the store of a repository. No two workspaces share one, and the URL cannot be read from it. */
export const storeNameOf = (workspaceId: string, repository: string): string =>
  createHash("sha256")
    .update(JSON.stringify([workspaceId, repository]))
    .digest("hex")

/** A session whose files may share objects with those of others of its workspace. */
export interface StoreUser {
  readonly session: SessionId
  readonly workspace: string
  /** The URL of its repository; null for none. */
  readonly repository: string | null
}

/** The object stores of the sessions of this machine. */
export const storesHere = (dataDir: string, shares: boolean, makeLock: MakeFileLock) => {
  const root = storesIn(dataDir)
  // Alternates are lines.
  const isShared = shares && !root.includes("\n")
  const at = storesAt(root, makeLock)
  /** The store of a workspace. Whoever uses it alone marks whose it is. */
  const ownedBy = (workspace: string, { alone, path }: ObjectStore): ObjectStore => {
    const mark = onDisk("The object store could not be marked", () =>
      markOwner(storeMark(path), { workspace_id: workspace, project_id: null })
    )
    return { path, alone: (use) => alone(Effect.zipRight(mark, use)) }
  }
  const storeFor = ({ repository, workspace }: Omit<StoreUser, "session">): ObjectStore | null =>
    isShared && repository !== null ? ownedBy(workspace, at(storeNameOf(workspace, repository))) : null
  const named = (session: SessionId) => readStore(sessionPaths(dataDir, session).gitDir)

  return {
    at,
    /** The store that gives a session its objects when its files are made; null for one without a repository. */
    storeFor,
    /** The store that the files of a session name; null where they have all objects themselves. */
    named: (session: SessionId): Effect.Effect<string | null> =>
      Effect.orElseSucceed(
        Effect.tryPromise(() => named(session)),
        () => null
      ),
    /** False for a session whose store is gone or in doubt. */
    isReliable: (session: SessionId): Effect.Effect<boolean> =>
      Effect.orElseSucceed(
        Effect.tryPromise(async () => {
          const path = await named(session)
          return path === null || (await isReliable(path))
        }),
        () => false
      ),
    /**
     * The directory that the processes of a session have to read besides its own; null for none. It is there, and nobody drops it soon, so that it
     * can be mounted before the workspace is made.
     */
    readable: (user: StoreUser, isMade: boolean): Effect.Effect<string | null> =>
      Effect.orElseSucceed(
        Effect.tryPromise(async () => {
          const path = isMade ? await named(user.session) : (storeFor(user)?.path ?? null)
          if (path === null) return null
          await reserveStore(path)
          return objectsOfStore(path)
        }),
        () => null
      )
  }
}
