import { Context, Effect, Layer } from "effect"
import { Providers, type Unrunnable } from "../catalog/Providers.js"
import type { Actor } from "../domain/Event.js"
import { ApiKeyId, newId, SessionId, type WorkspaceId } from "../domain/Ids.js"
import type { ReinsError } from "../domain/ReinsError.js"
import { now } from "../domain/Timestamp.js"
import { Executors } from "../executor/Executors.js"
import { JobStore } from "../jobs/JobStore.js"
import type { ProjectVersion } from "../projects/Project.js"
import { Projects } from "../projects/Projects.js"
import type { Commit } from "../store/Commit.js"
import { OfferedTools } from "./functions/OfferedTools.js"
import { Quotas } from "./Quotas.js"
import { sessionStates } from "./Session.js"
import { boundsOf } from "./SessionBounds.js"
import { SessionListeners } from "./SessionListeners.js"
import * as SessionOrigin from "./SessionOrigin.js"
import type { SessionRow } from "./SessionRow.js"
import { SessionStore } from "./SessionStore.js"
import type { SessionInput } from "./SessionsApi.js"
import { TurnStore } from "./turns/TurnStore.js"

/** The refusals of a session that no turn could run in. */
export type Unbegun = ReinsError<
  Unrunnable["code"] | "executor_unavailable" | "invalid_transition" | "quota_exhausted" | "unsupported_capability"
>

/** The kind of the job that ends the executor of a session. */
export const releaseJobKind = "session.release"

/** The beginning and the end of sessions, for every actor, inside a commit of the caller. */
export class SessionLifecycles extends Context.Tag("@reins/core/sessions/SessionLifecycles")<
  SessionLifecycles,
  {
    /**
     * Makes a session as a client asks for it. Fails like `Providers.requireRunnable`, with `not_found` for its project, with
     * `invalid_transition` for a project that is archived, with `unsupported_capability` for permissions that its provider cannot ask for,
     * and with `quota_exhausted` when the workspace has its share, as the two methods below do.
     */
    readonly begin: (
      workspaceId: WorkspaceId,
      actor: Actor,
      input: SessionInput
    ) => Effect.Effect<SessionRow, Unbegun, Commit>
    /** Makes the child session of a delegation. The commit holds the parent. */
    readonly spawn: (
      parent: SessionRow,
      actor: Actor,
      child: SessionOrigin.ChildSession
    ) => Effect.Effect<SessionRow, Unbegun, Commit>
    /** Makes a session that goes on from another one, which the commit holds. */
    readonly link: (
      from: SessionRow,
      actor: Actor,
      next: SessionOrigin.LinkedSession
    ) => Effect.Effect<SessionRow, Unbegun, Commit>
    /** Cancels the turns of a session, closes it, and has its executor released. The commit holds the session. */
    readonly close: (
      session: SessionRow,
      actor: Actor
    ) => Effect.Effect<SessionRow, ReinsError<"invalid_transition">, Commit>
  }
>() {
  static readonly layer = Layer.effect(
    SessionLifecycles,
    Effect.gen(function* () {
      const sessions = yield* SessionStore
      const turns = yield* TurnStore
      const jobs = yield* JobStore
      const listeners = yield* SessionListeners
      const quotas = yield* Quotas
      const providers = yield* Providers
      const tools = yield* OfferedTools
      const columnsOf = yield* newColumns

      const insert = Effect.fnUntraced(function* (
        workspaceId: WorkspaceId,
        actor: Actor,
        origin: SessionOrigin.SessionOrigin,
        parent?: SessionRow
      ) {
        const api_key_id = actor.kind === "api_key" ? ApiKeyId.make(actor.id) : (parent?.lineage.api_key_id ?? null)
        const { lineage, ...columns } = yield* columnsOf(workspaceId, origin)
        yield* quotas.session(workspaceId)
        yield* quotas.disk(workspaceId)
        return yield* sessions.insert({ ...columns, lineage: { ...lineage, api_key_id } }, actor)
      })

      return SessionLifecycles.of({
        begin: Effect.fnUntraced(function* (workspaceId, actor, input) {
          const row = yield* insert(workspaceId, actor, SessionOrigin.ofRequest(input))
          if (input.tools === undefined) return row
          if ((input.tools.functions ?? []).length > 0) yield* providers.requireTools(row.provider_id)
          yield* tools.choose(ownerOf(row), input.tools)
          return row
        }),
        // The functions are those of a conversation. Whoever answers for them knows nothing of the child.
        spawn: (parent, actor, child) =>
          Effect.tap(insert(parent.workspace_id, actor, SessionOrigin.ofChild(parent, child), parent), (row) =>
            tools.copy(parent.id, ownerOf(row), "own")
          ),
        link: (from, actor, next) =>
          Effect.tap(insert(from.workspace_id, actor, SessionOrigin.ofLink(from, next)), (row) =>
            tools.copy(from.id, ownerOf(row), "all")
          ),
        close: Effect.fnUntraced(function* (row, actor) {
          yield* sessionStates.check(row.lifecycle, "closed")
          yield* listeners.closing(row, actor)
          yield* turns.cancelAll(row.id, actor)
          yield* jobs.enqueue({
            kind: releaseJobKind,
            subject: { type: "session", id: row.id },
            workspaceId: row.workspace_id,
            payload: { session_id: row.id },
            filesOf: row.id,
            maxAttempts: 20
          })
          return yield* sessions.move(row, "closed", actor)
        })
      })
    })
  )
}

const ownerOf = ({ id }: SessionRow) => ({ id, session_id: id })

/** The columns of a new session: what is asked for comes before what its project version says, and a provider has to run with it. */
const newColumns = Effect.gen(function* () {
  const projects = yield* Projects
  const providers = yield* Providers
  const executors = yield* Executors

  const versionOf = (
    workspaceId: WorkspaceId,
    { project_id: projectId, project_version_id: versionId }: SessionInput
  ): Effect.Effect<ProjectVersion | undefined, ReinsError<"not_found" | "invalid_transition">> => {
    if (versionId !== undefined) return projects.start(workspaceId, { versionId })
    return projectId === undefined ? Effect.succeed(undefined) : projects.start(workspaceId, { projectId })
  }

  return Effect.fnUntraced(function* (
    workspaceId: WorkspaceId,
    { files, input, lineage }: SessionOrigin.SessionOrigin
  ) {
    const version = yield* versionOf(workspaceId, input)
    const repository = input.repository ?? version?.spec.repository
    const selection = input.harness ?? version?.spec.harness
    const manifest = yield* providers.requireEnabled(selection?.provider_id ?? providers.defaultId)
    const permissions = input.permissions ?? version?.spec.permissions
    yield* providers.requirePermissions(manifest.provider_id, permissions)
    const given = input.connection_id === undefined ? (version?.spec.connection_ids ?? []) : [input.connection_id]
    const connection = yield* providers.chooseConnection(workspaceId, manifest, given)
    const limits = input.executor?.limits ?? version?.spec.executor?.limits
    const bounds = { limits: limits === undefined ? null : JSON.stringify(limits) }
    const at = yield* now
    return {
      id: yield* newId(SessionId),
      workspace_id: workspaceId,
      project: version === undefined ? null : { id: version.project_id, version_id: version.id },
      title: input.title ?? null,
      labels: JSON.stringify(input.labels ?? {}),
      provider_id: manifest.provider_id,
      model: selection?.model ?? connection?.preferredModel ?? null,
      connection_id: connection?.id ?? null,
      executor: {
        ...bounds,
        backend: yield* executors.choose(
          (input.executor ?? version?.spec.executor)?.backend,
          boundsOf({ executor: bounds }, version?.spec ?? {})
        )
      },
      tree: {
        repository: repository?.url ?? null,
        base_ref: repository?.base_ref ?? null,
        sparse: repository?.sparse === undefined ? null : JSON.stringify(repository.sparse),
        ...files
      },
      lineage,
      auto_capture: input.auto_capture === false ? 0 : 1,
      options: selection?.options === undefined ? null : JSON.stringify(selection.options),
      permissions: permissions === undefined ? null : JSON.stringify(permissions),
      created_at: at
    }
  })
})
