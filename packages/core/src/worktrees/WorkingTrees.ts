import { fn } from "@reins/base/base/Traced"
import type { SessionId } from "@reins/base/domain/Ids"
import { Bench } from "@reins/machine/bench/Bench"
import type { SnapshotError } from "@reins/machine/bench/snapshots/TreeSnapshots"
import type { ObjectSource } from "@reins/machine/bench/TreeOrder"
import type { GitCredential } from "@reins/machine/repository/remote/RemoteUrl"
import type { GitError } from "@reins/machine/repository/run/GitError"
import { Context, Effect, Layer, type Scope } from "effect"
import { Placements } from "../placement/Placements.js"
import type { SessionRow } from "../sessions/rows/SessionRow.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import { existingOf } from "../store/Existing.js"
import { gitCredentials } from "./GitCredentials.js"
import { sessionLocks } from "./SessionLocks.js"
import { objectsOf } from "./TreeEars.js"
import { makeWorkspaceMake } from "./WorkspaceMaking.js"
import { type Beside, makePrepare, makeReattachUnless } from "./WorkspacePreparing.js"
import { makeRemove } from "./WorkspaceRemoving.js"

/** The workspaces of sessions with their executor leases: they are made when they are first needed, and kept until the session is closed. */
export class WorkingTrees extends Context.Tag("@reins/core/worktrees/WorkingTrees")<
  WorkingTrees,
  {
    /** Dies with `NotOwner` where another node has the files of a session. Files that are awaited here are brought first. */
    readonly requireOwned: (sessionId: SessionId) => Effect.Effect<void>
    /**
     * The place of the changesets of a session: its own files, or some from its snapshot where another node has its files, which go with the
     * scope.
     */
    readonly objectsOf: (sessionId: SessionId) => Effect.Effect<ObjectSource, SnapshotError, Scope.Scope>
    /**
     * False when the files of a session that has some are not on this disk: another node has them, another machine on the same database made
     * them, or somebody has removed them. What this disk says about them then means nothing.
     */
    readonly isHere: (session: SessionRow) => Effect.Effect<boolean>
    /**
     * Runs an effect while nothing else changes or captures the workspace, in this process or in another one on the data directory. A
     * process that hangs is waited for no longer than its claims live. This and all that follows dies with `NotOwner` where another node has the
     * files.
     */
    readonly exclusive: <A, E, R>(sessionId: SessionId, effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
    /** Makes the workspace unless it is there: from the repository at its base, or empty. Never waits for a turn. */
    readonly make: (sessionId: SessionId) => Effect.Effect<SessionRow, GitError>
    /**
     * Makes the lease and the workspace where they are missing. A repetition goes on; a lease that is being released is replaced. The agent that
     * `beside` has started is stopped when the workspace cannot be made or its lease has ended meanwhile.
     */
    readonly prepare: (sessionId: SessionId, beside?: Beside) => Effect.Effect<SessionRow, GitError>
    /** Removes the files of the agent for good. Captured changes stay readable. */
    readonly remove: (sessionId: SessionId) => Effect.Effect<void>
    /** Removes everything of a session on this machine. Nobody works on it any more. */
    readonly forget: (sessionId: SessionId) => Effect.Effect<void>
    /**
     * The credential for the repository of a session: of the connection that it names, of its project, or of the workspace. Fails with
     * `auth_required` when a named one cannot be used.
     */
    readonly gitCredential: (session: SessionRow) => Effect.Effect<GitCredential | undefined, GitError>
  }
>() {
  static readonly layer = Layer.scoped(
    WorkingTrees,
    Effect.gen(function* () {
      const sessions = yield* SessionStore
      const placements = yield* Placements
      const locks = yield* sessionLocks
      const { making, owned } = locks
      const { disk, trees } = yield* Bench
      const make = yield* makeWorkspaceMake
      const reattach = yield* makeReattachUnless
      const prepare = yield* makePrepare(make, reattach)
      const remove = yield* makeRemove

      return WorkingTrees.of({
        requireOwned: (id) => owned(id, Effect.void),
        objectsOf: yield* objectsOf,
        isHere: ({ id, tree }) =>
          tree.state !== "ready"
            ? Effect.succeed(true)
            : Effect.flatMap(placements.at(id), ({ kind }) =>
                kind === "here" ? Effect.map(trees.look(id), ({ isThere }) => isThere) : Effect.succeed(false)
              ),
        exclusive: (id, effect) => owned(id, locks.inUse(id, effect)),
        make: fn("WorkingTrees.make")((id) => owned(id, making(id, make(id)))),
        prepare: fn("WorkingTrees.prepare")((id, beside) =>
          Effect.gen(function* () {
            const row = yield* existingOf("session", sessions.find)(id)
            const isReady = row.executor.lease?.state === "ready" && row.tree.state === "ready"
            // A ready workspace needs no lock, because no workspace is removed while its turn is prepared.
            if (isReady && (yield* trees.look(id)).isReliable) return row
            return yield* owned(id, making(id, isReady ? Effect.as(reattach(row), row) : prepare(id, beside)))
          })
        ),
        remove: fn("WorkingTrees.remove")((id) => owned(id, making(id, remove(id)))),
        forget: fn("WorkingTrees.forget")((id) => Effect.zipRight(disk.forget(id), locks.forget(id))),
        gitCredential: yield* gitCredentials
      })
    })
  )
}
