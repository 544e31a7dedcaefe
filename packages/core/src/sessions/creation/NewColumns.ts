import { newId, SessionId, type WorkspaceId } from "@reins/base/domain/Ids"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import { now } from "@reins/base/domain/Timestamp"
import { Executors } from "@reins/machine/executor/Executors"
import { Effect } from "effect"
import { Providers } from "../../catalog/Providers.js"
import type { ProjectVersion } from "../../projects/Project.js"
import { Projects } from "../../projects/Projects.js"
import { chooseGit } from "./ChooseGit.js"
import { boundsOf } from "./SessionBounds.js"
import type * as SessionOrigin from "./SessionOrigin.js"
import type { SessionInput } from "./SessionsApi.js"

/** The columns of a new session: what is asked for comes before what its project version says, and a provider has to run with it. */
export const newColumns = Effect.gen(function* () {
  const projects = yield* Projects
  const providers = yield* Providers
  const executors = yield* Executors
  const git = yield* chooseGit

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
    const git_connection = yield* git.wanted(
      workspaceId,
      repository?.url,
      input.repository?.connection_id,
      version?.spec ?? {}
    )
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
        git_connection,
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
