import { rm } from "node:fs/promises"
import { Context, Effect, Layer } from "effect"
import { CoreConfig } from "../CoreConfig.js"
import { Connections, type OpenConnection } from "../connections/Connections.js"
import { type ChangesetId, LeaseId, newId, type SessionId } from "../domain/Ids.js"
import type { ProjectSpec } from "../domain/Project.js"
import { leaseStates, workspaceStates } from "../domain/Session.js"
import { now } from "../domain/Timestamp.js"
import { systemActor } from "../identity/Access.js"
import { Projects } from "../projects/Projects.js"
import { Journal } from "../store/Journal.js"
import { Git } from "../workspace/Git.js"
import { GitError } from "../workspace/GitError.js"
import type { GitCredential } from "../workspace/RemoteUrl.js"
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
export class Workspaces extends Context.Tag("@reins/core/sessions/Workspaces")<
  Workspaces,
  {
    readonly paths: (sessionId: SessionId) => SessionPaths
    /** Runs an effect while nothing else of this process changes or captures the workspace of the session. */
    readonly exclusive: <A, E, R>(sessionId: SessionId, effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
    /** Makes what is missing: the lease, then the workspace from the repository at its base, or empty. A repetition goes on. */
    readonly prepare: (sessionId: SessionId) => Effect.Effect<SessionRow, GitError>
    /** The credential for the repository of a session, from the connections of its project version. */
    readonly gitCredential: (session: SessionRow) => Effect.Effect<GitCredential | undefined>
  }
>() {
  static readonly layer = Layer.effect(
    Workspaces,
    Effect.gen(function* () {
      const config = yield* CoreConfig
      const journal = yield* Journal
      const store = yield* SessionStore
      const projects = yield* Projects
      const connections = yield* Connections
      const git = yield* Git
      const locks = new Map<SessionId, { readonly semaphore: Effect.Semaphore; users: number }>()

      const existing = (id: SessionId) =>
        Effect.flatMap(store.find(id), (row) =>
          row === undefined ? Effect.dieMessage(`no session ${id}`) : Effect.succeed(row)
        )

      const lease = Effect.fnUntraced(function* (id: SessionId) {
        const allocating = yield* journal.commit(
          Effect.gen(function* () {
            const row = yield* store.lock(id)
            if (row === undefined || row.lease_state === "ready") return undefined
            const leaseId =
              row.lease_state === "allocating" && row.lease_id !== null ? row.lease_id : yield* newId(LeaseId)
            if (row.lease_state === "none") yield* Effect.orDie(leaseStates.check("none", "allocating"))
            yield* store.change(id, { lease_id: leaseId, lease_state: "allocating", lease_created_at: yield* now })
            yield* journal.append(id, actor, [
              { type: "executor.allocating", payload: { lease_id: leaseId, backend: row.backend, reason: null } }
            ])
            return { leaseId, backend: row.backend }
          })
        )
        if (allocating === undefined) return
        yield* journal.commit(
          Effect.gen(function* () {
            yield* store.change(id, { lease_state: "ready", lease_used_at: yield* now })
            yield* journal.append(id, actor, [
              {
                type: "executor.ready",
                payload: { lease_id: allocating.leaseId, backend: allocating.backend, reason: null }
              }
            ])
          })
        )
      })

      const gitCredential = Effect.fnUntraced(function* (session: SessionRow) {
        if (session.project_version_id === null) return undefined
        const version = yield* Effect.orDie(
          projects.resolve(session.workspace_id, { versionId: session.project_version_id })
        )
        return yield* firstCredential(connections, session, version.spec)
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
            message: `The changeset ${seed.changeset_id} does not fit its own base. Delegate with another changeset.`
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

      return Workspaces.of({
        paths: (id) => sessionPaths(config.dataDir, id),
        exclusive: (id, effect) =>
          Effect.acquireUseRelease(
            Effect.sync(() => {
              const lock = locks.get(id) ?? { semaphore: Effect.unsafeMakeSemaphore(1), users: 0 }
              lock.users++
              locks.set(id, lock)
              return lock
            }),
            (lock) => lock.semaphore.withPermits(1)(effect),
            (lock) =>
              Effect.sync(() => {
                lock.users--
                if (lock.users === 0) locks.delete(id)
              })
          ),
        prepare: Effect.fn("Workspaces.prepare")(function* (id) {
          yield* lease(id)
          const row = yield* existing(id)
          if (row.workspace_state === "ready") return row
          if (row.workspace_state !== "preparing") {
            yield* Effect.orDie(workspaceStates.check(row.workspace_state, "preparing"))
            yield* journal.commit(store.change(id, { workspace_state: "preparing" }))
          }
          const { commit, ref } = yield* materialize(row)
          yield* journal.commit(
            Effect.gen(function* () {
              yield* store.change(id, { workspace_state: "ready", base_commit: commit, base_ref: ref })
              yield* journal.append(id, actor, [
                { type: "workspace.restored", payload: { base_commit: commit, path: null } }
              ])
            })
          )
          return yield* existing(id)
        }),
        gitCredential
      })
    })
  )
}

const gitKinds: ReadonlySet<string> = new Set(["git", "github", "gitlab", "gitea"])

const firstCredential = Effect.fnUntraced(function* (
  connections: Connections["Type"],
  session: SessionRow,
  spec: ProjectSpec
) {
  for (const id of spec.connection_ids ?? []) {
    const connection = yield* Effect.option(connections.open(session.workspace_id, id))
    if (connection._tag === "Some" && gitKinds.has(connection.value.kind)) return toGitCredential(connection.value)
  }
  return undefined
})

/** The secrets of a git or forge connection in the form that git takes. */
export const toGitCredential = ({ secrets, settings }: OpenConnection): GitCredential | undefined => {
  if (secrets["token"] !== undefined) return { token: secrets["token"] }
  return secrets["password"] === undefined
    ? undefined
    : { username: settings["username"] ?? "", password: secrets["password"] }
}
