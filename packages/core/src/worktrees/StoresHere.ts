import { createHash } from "node:crypto"
import { join } from "node:path"
import { Deferred, Effect } from "effect"
import { limited } from "../base/Limited.js"
import { isReliable, objectsOfStore, readStore, reserveStore } from "../git/Alternates.js"
import { GitError } from "../git/GitError.js"
import type { ObjectStore } from "../git/ObjectStore.js"
import { storesIn } from "../git/StorePlace.js"
import type { SessionRow } from "../sessions/SessionRow.js"
import * as SessionLock from "./SessionLock.js"
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
export const storesAt = (root: string): ((name: string) => ObjectStore) => {
  const lock = SessionLock.makeShared<string>(lockIn(root))
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

type Row = Pick<SessionRow, "id" | "tree" | "workspace_id">

/** The object stores of the sessions of this machine. */
export const storesHere = (dataDir: string, shares: boolean) => {
  const root = storesIn(dataDir)
  // Alternates are lines.
  const isShared = shares && !root.includes("\n")
  const at = storesAt(root)
  const storeFor = ({ tree: { repository }, workspace_id }: Row): ObjectStore | null =>
    isShared && repository !== null ? at(storeNameOf(workspace_id, repository)) : null
  const named = ({ id }: Row) => readStore(sessionPaths(dataDir, id).gitDir)

  return {
    at,
    /** The store that gives a session its objects when its files are made; null for one without a repository. */
    storeFor,
    /** The store that the files of a session name; null where they have all objects themselves. */
    named: (row: Row): Effect.Effect<string | null> =>
      Effect.orElseSucceed(
        Effect.tryPromise(() => named(row)),
        () => null
      ),
    /** False for a session whose store is gone or in doubt. */
    isReliable: (row: Row): Effect.Effect<boolean> =>
      Effect.orElseSucceed(
        Effect.tryPromise(async () => {
          const path = await named(row)
          return path === null || (await isReliable(path))
        }),
        () => false
      ),
    /**
     * The directory that the processes of a session have to read besides its own; null for none. It is there, and nobody drops it soon, so that it
     * can be mounted before the workspace is made.
     */
    readable: (row: Row): Effect.Effect<string | null> =>
      Effect.orElseSucceed(
        Effect.tryPromise(async () => {
          const path = row.tree.state === "ready" ? await named(row) : (storeFor(row)?.path ?? null)
          if (path === null) return null
          await reserveStore(path)
          return objectsOfStore(path)
        }),
        () => null
      )
  }
}
