import { Effect } from "effect"
import { systemActor } from "../access/Access.js"
import { CoreConfig } from "../base/CoreConfig.js"
import { failpoint } from "../base/Failpoint.js"
import type { SessionId } from "../domain/Ids.js"
import { removeTree } from "../files/RemoveTree.js"
import { Git } from "../git/Git.js"
import { GitError } from "../git/GitError.js"
import { Placements } from "../placement/Placements.js"
import { Projects } from "../projects/Projects.js"
import { existingOf } from "../store/Existing.js"
import { Journal } from "../store/Journal.js"
import { gitCredentials } from "./GitCredentials.js"
import { ownedCommits } from "./OwnedCommits.js"
import { Quotas } from "./Quotas.js"
import type { WorkspaceSeed } from "./SessionOrigin.js"
import { sessionPaths } from "./SessionPaths.js"
import { type SessionRow, SessionStore } from "./SessionStore.js"
import { type Base, hasSetup, workspaceSetup } from "./WorkspaceSetup.js"

const actor = systemActor("workspaces")

/** Makes the workspace of a session unless it is ready. The caller keeps everybody else from making or removing it. */
export const workspaceMaking = Effect.gen(function* () {
  const journal = yield* Journal
  const commit = yield* ownedCommits
  const sessions = yield* SessionStore
  const quotas = yield* Quotas
  const materialize = yield* materializing
  const existing = existingOf("session", sessions.find)

  return Effect.fnUntraced(function* (id: SessionId) {
    const row = yield* existing(id)
    if (row.workspace_state === "ready") return row
    if (row.workspace_state === "removed") return yield* removed
    if (row.workspace_state !== "preparing")
      yield* commit(
        id,
        quotas.workingTree(row.workspace_id).pipe(
          Effect.mapError(({ message }) => new GitError({ kind: "quota_exhausted", message })),
          Effect.zipRight(sessions.moveWorkspace(row, "preparing"))
        )
      )
    const base = yield* materialize(row)
    yield* failpoint("workspace.made")
    yield* commit(
      id,
      Effect.gen(function* () {
        yield* sessions.moveWorkspace({ id, workspace_state: "preparing" }, "ready", base)
        yield* journal.append(id, actor, [
          { type: "workspace.restored", payload: { base_commit: base.base_commit, path: null } }
        ])
      })
    )
    return yield* existing(id)
  })
})

/** Puts the files of a new workspace on disk: the repository at its base, or nothing, what its setup leaves, and the seed on top. Gives back the base. */
const materializing = Effect.gen(function* () {
  const { dataDir } = yield* CoreConfig
  const projects = yield* Projects
  const clone = yield* cloning
  const setUp = yield* workspaceSetup
  const plant = yield* planting

  return Effect.fnUntraced(function* (row: SessionRow) {
    const { gitDir, workTree } = sessionPaths(dataDir, row.id)
    // The agent never had a workspace that was not ready, so an interrupted attempt has left everything that is there.
    yield* Effect.promise(async () => {
      await removeTree(workTree)
      await removeTree(gitDir)
    })
    const spec = yield* projects.specOf(row)
    const base = yield* hasSetup(spec) ? setUp(row, spec, clone(row)) : clone(row)
    yield* plant(row, base.base_commit)
    return base
  })
})

/** Makes the workspace of a session from its repository, or empty. */
const cloning = Effect.gen(function* () {
  const { dataDir } = yield* CoreConfig
  const git = yield* Git
  const gitCredential = yield* gitCredentials

  return Effect.fnUntraced(function* (row: SessionRow): Effect.fn.Return<Base, GitError> {
    const { gitDir, workTree } = sessionPaths(dataDir, row.id)
    if (row.repository === null) {
      yield* git.init({ gitDir, workTree })
      return { base_commit: null, base_ref: null }
    }
    const credential = yield* gitCredential(row)
    const { commit, ref } = yield* git.clone({
      url: row.repository,
      ref: row.base_commit ?? row.base_ref,
      gitDir,
      workTree,
      ...(credential && { credential })
    })
    return { base_commit: commit, base_ref: row.base_ref ?? ref }
  })
})

/** Brings the seed of a session onto the base that it was made from. */
const planting = Effect.gen(function* () {
  const { dataDir } = yield* CoreConfig
  const placements = yield* Placements
  const git = yield* Git

  return Effect.fnUntraced(function* (row: SessionRow, base: string | null) {
    if (row.seed === null) return
    const seed: WorkspaceSeed = JSON.parse(row.seed)
    if ((yield* placements.at(seed.session_id)).kind !== "here") return yield* seedElsewhere
    const { gitDir, workTree } = sessionPaths(dataDir, row.id)
    const { state } = yield* git.applyTree({
      source: { gitDir: sessionPaths(dataDir, seed.session_id).gitDir, base: seed.base_commit, tree: seed.tree },
      target: { gitDir, workTree, base },
      strategy: "exact",
      dryRun: false
    })
    if (state === "conflicted") {
      return yield* new GitError({
        kind: "conflict",
        message: `The changeset ${seed.changeset_id} does not fit its own base. Start from another changeset.`
      })
    }
  })
})

const seedElsewhere = new GitError({
  kind: "conflict",
  message: "Another node has the files of its seed: start from a delivered branch."
})

const removed = new GitError({
  kind: "not_found",
  message: "The session is closed and its workspace removed. Its changesets can still be read."
})
