import { mkdir, readdir, rename, rmdir } from "node:fs/promises"
import { Effect } from "effect"
import { systemActor } from "../access/Access.js"
import { CoreConfig } from "../base/CoreConfig.js"
import { failpoint } from "../base/Failpoint.js"
import type { SessionId } from "../domain/Ids.js"
import { beneath } from "../files/NameText.js"
import { removeTree } from "../files/RemoveTree.js"
import { Git } from "../git/Git.js"
import { GitError, onDisk } from "../git/GitError.js"
import { Placements } from "../placement/Placements.js"
import { Projects } from "../projects/Projects.js"
import { Quotas } from "../sessions/Quotas.js"
import type { WorkspaceSeed } from "../sessions/SessionOrigin.js"
import type { SessionRow } from "../sessions/SessionRow.js"
import { SessionStore } from "../sessions/SessionStore.js"
import { newestTurn } from "../sessions/turns/NewestTurn.js"
import { Database } from "../store/Database.js"
import { existingOf } from "../store/Existing.js"
import { Journal } from "../store/Journal.js"
import { gitCredentials } from "./GitCredentials.js"
import { Leases } from "./Leases.js"
import { objectStores } from "./ObjectStores.js"
import { ownedCommits } from "./OwnedCommits.js"
import { type SessionPaths, sessionPaths } from "./SessionPaths.js"
import { hasSetup, workspaceSetup } from "./setup/WorkspaceSetup.js"
import { type SnapshotError, Snapshots } from "./snapshots/Snapshots.js"
import { type Base, WorkingTreeStore } from "./WorkingTreeStore.js"

const actor = systemActor("workspaces")

/** Bytes of a snapshot could not be had. */
const notHad = ({ message, retryable }: SnapshotError) =>
  new GitError({ kind: retryable ? "remote_unavailable" : "internal", message })

/** The ends of turns whose agent has worked in the workspace. */
const withFiles = ["succeeded", "interrupted"] as const

/**
 * Makes the workspace of a session unless it is ready. The caller keeps everybody else from making or removing it. `beside` runs while the files
 * are made, unless a setup makes them, because that has the home of the agent for itself.
 */
export const workspaceMaking = Effect.gen(function* () {
  const journal = yield* Journal
  const commit = yield* ownedCommits
  const leases = yield* Leases
  const sessions = yield* SessionStore
  const store = yield* WorkingTreeStore
  const quotas = yield* Quotas
  const db = yield* Database
  const snapshots = yield* Snapshots
  const filtersOf = yield* filtering
  const materialize = yield* materializing
  const existing = existingOf("session", sessions.find)

  return Effect.fnUntraced(function* (id: SessionId, beside: (row: SessionRow) => Effect.Effect<void> = nothing) {
    const row = yield* existing(id)
    if (row.tree.state === "ready") return row
    if (row.tree.state === "removed") return yield* removed
    if (row.tree.state !== "preparing")
      yield* commit(
        id,
        quotas.workingTree(row.workspace_id).pipe(
          Effect.mapError(({ message }) => new GitError({ kind: "quota_exhausted", message })),
          Effect.zipRight(store.move(row, "preparing"))
        )
      )
    // A process that was killed while it made the workspace may have left an agent there.
    else yield* leases.reap(row)
    const base = yield* materialize(row, beside(row))
    const [, filters] = yield* Effect.all([Effect.mapError(snapshots.restoreApart(id), notHad), filtersOf(id, base)], {
      concurrency: 2
    })
    yield* failpoint("workspace.made")
    // A session that has worked already has lost its first workspace with the machine.
    const lost_turn = yield* newestTurn(db, id, withFiles)
    yield* commit(
      id,
      Effect.gen(function* () {
        yield* store.move({ id, tree: { state: "preparing" } }, "ready", base)
        yield* journal.append(id, actor, [
          {
            type: "workspace.restored",
            payload: { base_commit: base.base_commit, path: null, snapshot_id: null, lost_turn, filters }
          }
        ])
      })
    )
    return yield* existing(id)
  })
})

const nothing = () => Effect.void

/** Gives the function that tells the filters of the repository. A repository whose filters cannot be told is worked on all the same. */
const filtering = Effect.gen(function* () {
  const { dataDir } = yield* CoreConfig
  const git = yield* Git
  return (id: SessionId, { base_commit }: Base) =>
    base_commit === null
      ? Effect.succeed([])
      : Effect.orElseSucceed(git.filters({ gitDir: sessionPaths(dataDir, id).gitDir, tree: base_commit }), () => null)
})

/** Puts the files of a new workspace on disk: the repository at its base, or nothing, what its setup leaves, and the seed on top. Gives back the base. */
const materializing = Effect.gen(function* () {
  const { dataDir } = yield* CoreConfig
  const projects = yield* Projects
  const clone = yield* cloning
  const setUp = yield* workspaceSetup
  const plant = yield* planting
  const place = yield* placing

  return Effect.fnUntraced(function* (row: SessionRow, beside: Effect.Effect<void>) {
    const { gitDir, home, making, setupOwed, workTree } = sessionPaths(dataDir, row.id)
    // No agent was told of a workspace that was not ready, so an interrupted attempt has left everything that is there.
    yield* Effect.promise(async () => {
      for (const tree of [workTree, gitDir, making, setupOwed]) await removeTree(tree)
    })
    const spec = yield* projects.specOf(row)
    const filled = (folder: string, fill: Effect.Effect<Base, GitError>) =>
      Effect.tap(fill, (base) => plant(row, { gitDir, workTree: folder }, base.base_commit))
    const trees = { workTree, home, gitDir }
    if (hasSetup(spec)) return yield* filled(workTree, setUp(row, spec, { trees, makeBase: clone(row, trees) }))
    yield* Effect.promise(() => mkdir(workTree, { recursive: true }))
    const [base] = yield* Effect.all([filled(making, clone(row, { gitDir, workTree: making })), beside], {
      concurrency: "unbounded"
    })
    yield* failpoint("workspace.cloned")
    yield* place(row)
    return base
  })
})

/**
 * Moves the files of a workspace to its directory once all are there. The processes in that directory, or that have it mounted, see them from then
 * on. They never see a file before that: they could put a link in its place while it is written with the rights of the service.
 */
const placing = Effect.gen(function* () {
  const { dataDir } = yield* CoreConfig
  const leases = yield* Leases

  return Effect.fnUntraced(function* (row: SessionRow) {
    const { making, workTree } = sessionPaths(dataDir, row.id)
    const move = (clear: (path: Buffer) => Promise<void>) =>
      onDisk("The workspace folder could not be made", async () => {
        for (const name of await readdir(making, { encoding: "buffer" })) {
          await clear(beneath(workTree, name))
          await rename(beneath(making, name), beneath(workTree, name))
        }
        await rmdir(making)
      })
    yield* move(async () => {}).pipe(
      // An agent that has started meanwhile has put something in the way. Nobody removes it before that agent is gone.
      Effect.catchAll(() => Effect.zipRight(leases.reap(row), move(removeTree)))
    )
  })
})

/** Makes the files of a session in a folder from its repository, or none. */
export const cloning = Effect.gen(function* () {
  const git = yield* Git
  const gitCredential = yield* gitCredentials
  const stores = yield* objectStores

  return Effect.fnUntraced(function* (
    row: SessionRow,
    { gitDir, workTree }: Pick<SessionPaths, "gitDir" | "workTree">
  ): Effect.fn.Return<Base, GitError> {
    if (row.tree.repository === null) {
      yield* git.init({ gitDir, workTree })
      return { base_commit: null, base_ref: null }
    }
    const credential = yield* gitCredential(row)
    const store = (yield* stores).storeFor(row)
    const { commit, ref } = yield* git.clone({
      url: row.tree.repository,
      ref: row.tree.base_commit ?? row.tree.base_ref,
      gitDir,
      workTree,
      ...(store && { store }),
      ...(row.tree.sparse !== null && { sparse: JSON.parse(row.tree.sparse) }),
      ...(credential && { credential })
    })
    return { base_commit: commit, base_ref: row.tree.base_ref ?? ref }
  })
})

/** The git directory with the changesets of a session, also where another node has its files. */
export const objectsOf = Effect.gen(function* () {
  const { dataDir } = yield* CoreConfig
  const placements = yield* Placements
  const snapshots = yield* Snapshots
  return Effect.fnUntraced(function* (id: SessionId) {
    const place = yield* placements.at(id)
    return place.kind === "here" && !place.awaited ? sessionPaths(dataDir, id).gitDir : yield* snapshots.objects(id)
  })
})

/** Brings the seed of a session onto the base that it was made from. */
const planting = Effect.gen(function* () {
  const git = yield* Git
  const sourceOf = yield* objectsOf

  return Effect.fnUntraced(function* (
    row: SessionRow,
    target: Pick<SessionPaths, "gitDir" | "workTree">,
    base: string | null
  ) {
    if (row.tree.seed === null) return
    const seed: WorkspaceSeed = JSON.parse(row.tree.seed)
    const source = yield* Effect.mapError(sourceOf(seed.session_id), notHad)
    const { state } = yield* git.applyTree({
      source: { gitDir: source, base: seed.base_commit, tree: seed.tree },
      target: { ...target, base },
      strategy: "exact",
      dryRun: false
    })
    if (state === "conflicted") {
      return yield* new GitError({
        kind: "conflict",
        message: `The changeset ${seed.changeset_id} does not fit its own base. Start from another changeset.`
      })
    }
  }, Effect.scoped)
})

const removed = new GitError({
  kind: "not_found",
  message: "The session is closed and its workspace removed. Its changesets can still be read."
})
