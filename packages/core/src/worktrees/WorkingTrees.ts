import { Cause, Context, Deferred, Effect, Exit, Layer, Option, type Scope } from "effect"
import { systemActor } from "../access/Access.js"
import { Boot } from "../base/Boot.js"
import { CoreConfig } from "../base/CoreConfig.js"
import { failpoint } from "../base/Failpoint.js"
import { fn } from "../base/Traced.js"
import { Bench } from "../bench/Bench.js"
import { type SessionPaths, sessionPaths } from "../bench/SessionPaths.js"
import type { ObjectSource } from "../bench/TreeOrder.js"
import type { SessionId } from "../domain/Ids.js"
import type { GitError } from "../git/GitError.js"
import type { GitCredential } from "../git/RemoteUrl.js"
import { JobClaims } from "../jobs/JobClaims.js"
import { Nodes } from "../placement/Nodes.js"
import { NotOwner, Placements } from "../placement/Placements.js"
import { Projects } from "../projects/Projects.js"
import type { SessionRow } from "../sessions/SessionRow.js"
import { SessionStore } from "../sessions/SessionStore.js"
import { existingOf } from "../store/Existing.js"
import { gitCredentials } from "./GitCredentials.js"
import { Leases } from "./Leases.js"
import { ownedCommits } from "./OwnedCommits.js"
import * as SessionLock from "./SessionLock.js"
import type { SnapshotError } from "./snapshots/Snapshots.js"
import { makeListeners, objectsOf, setupOrders, treeOriginOf } from "./TreeOrders.js"
import { WorkingTreeStore } from "./WorkingTreeStore.js"
import { makeWorkspaceMake } from "./WorkspaceMaking.js"

const actor = systemActor("workspaces")

/**
 * Begins to start the agent of a session whose lease is held and whose workspace is being made, and does not wait for it. The effect that it gets
 * waits until the workspace is there, and gives false when it cannot be made.
 */
export type Beside = (session: SessionRow, made: Effect.Effect<boolean>) => Effect.Effect<void>

/** The workspaces of sessions with their executor leases: they are made when they are first needed, and kept until the session is closed. */
export class WorkingTrees extends Context.Tag("@reins/core/worktrees/WorkingTrees")<
  WorkingTrees,
  {
    /** The places of the files of a session on disk, also before they are made, and where another node has them. */
    readonly paths: (sessionId: SessionId) => SessionPaths
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
    /**
     * The credential for the repository of a session, from the connections of its project version. Fails with `auth_required` when the only one
     * that could be meant names no home.
     */
    readonly gitCredential: (session: SessionRow) => Effect.Effect<GitCredential | undefined, GitError>
  }
>() {
  static readonly layer = Layer.scoped(
    WorkingTrees,
    Effect.gen(function* () {
      const { dataDir } = yield* CoreConfig
      const sessions = yield* SessionStore
      const { isSilent, leaseMs } = yield* JobClaims
      const { bootId } = yield* Boot
      const placements = yield* Placements
      const exclusive = SessionLock.makeShared((id) => sessionPaths(dataDir, id).inUse, {
        self: bootId,
        isSilent,
        leaseMs
      })
      const making = SessionLock.makeShared((id) => sessionPaths(dataDir, id).lock)
      const owned = yield* makeOwn(making)
      const make = yield* makeWorkspaceMake
      const { trees } = yield* Bench
      const again = yield* makeSetUpAgain
      const reattach = yield* makeReattachUnless
      const prepare = yield* makePrepare(make, (row) => Effect.zipRight(again(row.id), reattach(row)))
      const remove = yield* makeRemove

      return WorkingTrees.of({
        paths: (id) => sessionPaths(dataDir, id),
        requireOwned: (id) => owned(id, Effect.void),
        objectsOf: yield* objectsOf,
        isHere: ({ id, tree }) =>
          tree.state !== "ready"
            ? Effect.succeed(true)
            : Effect.flatMap(placements.at(id), ({ kind }) =>
                kind === "here" ? Effect.map(trees.look(id), ({ isThere }) => isThere) : Effect.succeed(false)
              ),
        exclusive: (id, effect) => owned(id, exclusive(id, effect)),
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
        gitCredential: yield* gitCredentials
      })
    })
  )
}

/**
 * Does something with the files of a session where this node has them. Files that are awaited here are brought first. One machine has those of every
 * session.
 */
const makeOwn = Effect.fnUntraced(function* (making: SessionLock.SessionLock) {
  const placements = yield* Placements
  const { holds, self } = yield* Nodes
  const alone: SessionLock.SessionLock = (_, effect) => effect
  if (self === null) return alone
  const { awaitedFiles } = yield* Effect.promise(() => import("./snapshots/AwaitedFiles.js"))
  const bring = yield* awaitedFiles
  const owned: SessionLock.SessionLock = (sessionId, effect) =>
    Effect.gen(function* () {
      const place = yield* placements.at(sessionId)
      if (place.kind !== "here" || !holds()) return yield* Effect.die(new NotOwner({ sessionId }))
      if (place.awaited) yield* making(sessionId, bring(sessionId))
      return yield* effect
    })
  return owned
})

/** Gives a session whose object store is gone or in doubt its objects back, and stops an agent that does not see them. */
const makeReattachUnless = Effect.gen(function* () {
  const { agents, trees } = yield* Bench
  const earOf = yield* makeListeners

  return Effect.fnUntraced(function* (row: SessionRow) {
    if ((yield* trees.look(row.id)).isReliable) return
    if ((yield* trees.reattach(treeOriginOf(row), earOf(row))) && row.executor.lease !== null)
      yield* agents.stop(row.executor.lease.id)
  })
})

/** Brings what the setup of a project leaves back into a session that came from a snapshot, unless it was brought already. */
const makeSetUpAgain = Effect.gen(function* () {
  const { trees } = yield* Bench
  const projects = yield* Projects
  const earOf = yield* makeListeners
  const setupOf = yield* setupOrders
  const existing = existingOf("session", (yield* SessionStore).find)

  return Effect.fnUntraced(function* (id: SessionId) {
    if (!(yield* trees.look(id)).owesSetup) return
    const session = yield* existing(id)
    const setup = yield* setupOf(session, yield* projects.specOf(session))
    if (setup !== null) yield* trees.setUpAgain(treeOriginOf(session), setup, earOf(session))
  })
})

/** Makes a lease and the workspace. The lease is committed before anything is made for it, and lost when that cannot be made. */
const makePrepare = Effect.fnUntraced(function* (
  make: Effect.Effect.Success<typeof makeWorkspaceMake>,
  complete: (row: SessionRow) => Effect.Effect<void, GitError>
) {
  const { agents } = yield* Bench
  const commit = yield* ownedCommits
  const sessions = yield* SessionStore
  const leases = yield* Leases
  const existing = existingOf("session", sessions.find)

  /** Ends the allocation of a lease, unless the lease has moved on meanwhile. */
  const settle = (id: SessionId, end: ReturnType<typeof leases.lose>) =>
    commit(
      id,
      Effect.flatMap(existing(id), (row) => (row.executor.lease?.state === "allocating" ? end : Effect.void))
    )

  /** Makes the workspace, and gives the session. No agent is left of a lease that has ended by then. */
  const makeBeside = Effect.fnUntraced(function* (id: SessionId, beside: Beside) {
    const made = yield* Deferred.make<boolean>()
    const leaseId = (yield* existing(id)).executor.lease?.id
    const stopAgent = Effect.suspend(() => (leaseId === undefined ? Effect.void : agents.stop(leaseId)))
    const row = yield* make(id, (row) => beside(row, Deferred.await(made))).pipe(
      Effect.tap(complete),
      Effect.onError((cause) => Effect.zipRight(stopAgent, settle(id, leases.lose(id, actor, reasonOf(cause))))),
      Effect.zipRight(settle(id, leases.move(id, "ready", actor, null))),
      Effect.zipRight(existing(id)),
      Effect.onExit((exit) => Deferred.succeed(made, Exit.isSuccess(exit)))
    )
    if (row.executor.lease?.id !== leaseId || row.executor.lease?.state !== "ready") yield* stopAgent
    return row
  })

  return Effect.fnUntraced(function* (id: SessionId, beside: Beside = () => Effect.void) {
    const before = yield* existing(id)
    if (before.executor.lease?.state === "quiescing") {
      // Its release has not ended it yet, and the turn that is prepared now needs a lease of its own.
      yield* leases.reap(before)
      yield* commit(id, leases.move(id, "released", actor, "superseded"))
    }
    yield* commit(id, leases.allocate(id, actor))
    yield* failpoint("executor.allocated")
    return yield* makeBeside(id, beside)
  })
})

const makeRemove = Effect.gen(function* () {
  const { trees } = yield* Bench
  const commit = yield* ownedCommits
  const sessions = yield* SessionStore
  const files = yield* WorkingTreeStore
  const leases = yield* Leases

  return Effect.fnUntraced(function* (id: SessionId) {
    yield* trees.remove(id)
    yield* failpoint("workspace.removed")
    yield* commit(
      id,
      Effect.gen(function* () {
        // An activation may have begun a lease while the session was being closed.
        yield* leases.lose(id, actor, "session_closed")
        const row = yield* existingOf("session", sessions.find)(id)
        if (row.tree.state !== "removed") yield* files.move(row, "removed")
      })
    )
  })
})

const reasonOf = (cause: Cause.Cause<GitError>): string =>
  Option.match(Cause.failureOption(cause), {
    onNone: () => (Cause.isInterrupted(cause) ? "cancelled" : "failed"),
    onSome: (error) => error.kind
  })
