import { rm } from "node:fs/promises"
import { Cause, Context, Effect, Layer, Option } from "effect"
import { systemActor } from "../access/Access.js"
import { CoreConfig } from "../base/CoreConfig.js"
import { failpoint } from "../base/Failpoint.js"
import { fn } from "../base/Traced.js"
import { ConnectionKinds } from "../connections/ConnectionKinds.js"
import { ConnectionStore } from "../connections/ConnectionStore.js"
import type { OpenConnection } from "../connections/OpenConnection.js"
import type { ChangesetId, SessionId } from "../domain/Ids.js"
import { workspaceStates } from "../domain/Session.js"
import { removeTree } from "../files/RemoveTree.js"
import { Forges } from "../forge/Forges.js"
import { Git } from "../git/Git.js"
import { GitError } from "../git/GitError.js"
import type { GitCredential } from "../git/RemoteUrl.js"
import { JobClaims } from "../jobs/JobClaims.js"
import { Placement } from "../placement/Placement.js"
import { Projects } from "../projects/Projects.js"
import { Journal } from "../store/Journal.js"
import { Leases } from "./Leases.js"
import * as SessionLock from "./SessionLock.js"
import { type SessionPaths, sessionPaths } from "./SessionPaths.js"
import { type SessionRow, SessionStore } from "./SessionStore.js"

const actor = systemActor("workspaces")

/** What a workspace holds besides its base from the beginning: the tree of a sealed changeset of that base. */
export interface WorkspaceSeed {
  readonly changeset_id: ChangesetId
  readonly session_id: SessionId
  readonly base_commit: string | null
  readonly tree: string
}

/** The workspace and the executor lease of a session: made when they are first needed, kept until the session is closed. */
export class WorkingTrees extends Context.Tag("@reins/core/sessions/WorkingTrees")<
  WorkingTrees,
  {
    readonly paths: (sessionId: SessionId) => SessionPaths
    /**
     * Runs an effect while nothing else changes or captures the workspace, here or in another process on the data directory; one that
     * hangs is waited for no longer than its claims live.
     */
    readonly exclusive: <A, E, R>(sessionId: SessionId, effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
    /** Makes the workspace from the repository at its base, or empty, unless it is there. Never waits for a turn. */
    readonly make: (sessionId: SessionId) => Effect.Effect<SessionRow, GitError>
    /** Makes what is missing of the lease and the workspace. A repetition goes on; a lease that is being released is replaced. */
    readonly prepare: (sessionId: SessionId) => Effect.Effect<SessionRow, GitError>
    /** Removes the files of the agent for good. What was captured stays readable. */
    readonly remove: (sessionId: SessionId) => Effect.Effect<void>
    /** The credential for the repository of a session, from the connections of its project version. */
    readonly gitCredential: (session: SessionRow) => Effect.Effect<GitCredential | undefined>
  }
>() {
  static readonly layer = Layer.effect(
    WorkingTrees,
    Effect.gen(function* () {
      const config = yield* CoreConfig
      const journal = yield* Journal
      const store = yield* SessionStore
      const projects = yield* Projects
      const connections = yield* ConnectionStore
      const { forGit } = yield* ConnectionKinds
      const forges = yield* Forges
      const git = yield* Git
      const leases = yield* Leases
      const jobs = yield* JobClaims
      const { bootId } = yield* Placement
      const pathOf = (name: "inUse" | "lock") => (id: SessionId) => sessionPaths(config.dataDir, id)[name]
      const { isSilent, leaseMs } = jobs
      const exclusive = SessionLock.makeShared(pathOf("inUse"), { self: bootId, isSilent, leaseMs })
      const making = SessionLock.makeShared(pathOf("lock"))

      const existing = (id: SessionId) =>
        Effect.flatMap(store.find(id), (row) =>
          row === undefined ? Effect.dieMessage(`no session ${id}`) : Effect.succeed(row)
        )

      const gitCredential = Effect.fnUntraced(function* (session: SessionRow) {
        if (session.project_version_id === null) return undefined
        const version = yield* Effect.orDie(
          projects.resolve(session.workspace_id, { versionId: session.project_version_id })
        )
        for (const id of version.spec.connection_ids ?? []) {
          const connection = yield* Effect.option(connections.open(session.workspace_id, id))
          if (connection._tag === "None" || !forGit.includes(connection.value.kind)) continue
          if (forges.mayReceive(connection.value, session.repository ?? "")) return toGitCredential(connection.value)
        }
        return undefined
      })

      /** Brings the seed onto the base that it was made from. */
      const plant = Effect.fnUntraced(function* (row: SessionRow, base: string | null) {
        if (row.seed === null) return
        const seed: WorkspaceSeed = JSON.parse(row.seed)
        const { gitDir, workTree } = sessionPaths(config.dataDir, row.id)
        const { state } = yield* git.applyTree({
          source: {
            gitDir: sessionPaths(config.dataDir, seed.session_id).gitDir,
            base: seed.base_commit,
            tree: seed.tree
          },
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

      const materialize = Effect.fnUntraced(function* (row: SessionRow) {
        const { gitDir, workTree } = sessionPaths(config.dataDir, row.id)
        // Nothing of the agent is in a workspace that was never ready: what an interrupted attempt left is ours.
        yield* Effect.promise(async () => {
          await rm(workTree, { recursive: true, force: true })
          await rm(gitDir, { recursive: true, force: true })
        })
        if (row.repository === null) {
          yield* git.init({ gitDir, workTree })
          yield* plant(row, null)
          return { commit: null, ref: null }
        }
        const credential = yield* gitCredential(row)
        const { commit, ref } = yield* git.clone({
          url: row.repository,
          ref: row.base_commit ?? row.base_ref,
          gitDir,
          workTree,
          ...(credential && { credential })
        })
        yield* plant(row, commit)
        return { commit, ref: row.base_ref ?? ref }
      })

      const workspace = Effect.fnUntraced(function* (id: SessionId) {
        const row = yield* existing(id)
        if (row.workspace_state === "ready") return row
        if (row.workspace_state === "removed") return yield* removed
        if (row.workspace_state !== "preparing") {
          yield* Effect.orDie(workspaceStates.check(row.workspace_state, "preparing"))
          yield* journal.commit(store.change(id, { workspace_state: "preparing" }))
        }
        const { commit, ref } = yield* materialize(row)
        yield* failpoint("workspace.made")
        yield* journal.commit(
          Effect.gen(function* () {
            yield* store.change(id, { workspace_state: "ready", base_commit: commit, base_ref: ref })
            yield* journal.append(id, actor, [
              { type: "workspace.restored", payload: { base_commit: commit, path: null } }
            ])
          })
        )
        return yield* existing(id)
      })

      /** The lease is committed before anything is made for it, and lost when that cannot be made. */
      const prepare = Effect.fnUntraced(function* (id: SessionId) {
        const before = yield* existing(id)
        if (before.lease_state === "quiescing") {
          // A release that has not come so far yet: what goes on now needs a lease of its own.
          yield* leases.reap(before)
          yield* journal.commit(leases.move(id, "released", actor, "superseded"))
        }
        yield* journal.commit(leases.allocate(id, actor))
        yield* failpoint("executor.allocated")
        yield* workspace(id).pipe(
          Effect.onError((cause) =>
            journal.commit(
              Effect.flatMap(existing(id), (row) =>
                row.lease_state === "allocating" ? leases.lose(id, actor, reasonOf(cause)) : Effect.void
              )
            )
          )
        )
        yield* journal.commit(
          Effect.flatMap(existing(id), (row) =>
            row.lease_state === "allocating" ? leases.move(id, "ready", actor, null) : Effect.void
          )
        )
        return yield* existing(id)
      })

      return WorkingTrees.of({
        paths: (id) => sessionPaths(config.dataDir, id),
        exclusive,
        make: fn("WorkingTrees.make")((id) => making(id, workspace(id))),
        prepare: fn("WorkingTrees.prepare")((id) =>
          Effect.flatMap(existing(id), (row) =>
            // What stands needs nothing, and nobody removes it beside a turn.
            row.lease_state === "ready" && row.workspace_state === "ready"
              ? Effect.succeed(row)
              : making(id, prepare(id))
          )
        ),
        remove: fn("WorkingTrees.remove")((id) =>
          making(
            id,
            Effect.gen(function* () {
              const { home, workTree } = sessionPaths(config.dataDir, id)
              yield* Effect.promise(async () => {
                await removeTree(workTree)
                await removeTree(home)
              })
              yield* failpoint("workspace.removed")
              yield* journal.commit(
                Effect.zipRight(
                  // An activation may have begun one when its session was being closed.
                  leases.lose(id, actor, "session_closed"),
                  store.change(id, { workspace_state: "removed" })
                )
              )
            })
          )
        ),
        gitCredential
      })
    })
  )
}

const removed = new GitError({
  kind: "not_found",
  message: "The session is closed and its workspace removed. Its changesets can still be read."
})

const reasonOf = (cause: Cause.Cause<GitError>): string =>
  Option.match(Cause.failureOption(cause), {
    onNone: () => (Cause.isInterrupted(cause) ? "cancelled" : "failed"),
    onSome: (error) => error.kind
  })

/** The secrets of a git or forge connection in the form that git takes. */
export const toGitCredential = ({ secrets, settings }: OpenConnection): GitCredential | undefined => {
  if (secrets["token"] !== undefined) return { token: secrets["token"] }
  return secrets["password"] === undefined
    ? undefined
    : { username: settings["username"] ?? "", password: secrets["password"] }
}
