import { Effect } from "effect"
import type { Operations } from "../store/Operation.js"
import { Deletions } from "./Deletions.js"
import type { DeletionsApi, ProjectDeletionsApi, ReceiptsApi } from "./DeletionsApi.js"
import type { operationErrors } from "./Errors.js"
import { ProjectDeletions } from "./ProjectDeletions.js"
import { Retention } from "./Retention.js"
import { WorkspaceDeletions } from "./WorkspaceDeletions.js"

export const sessions = Effect.gen(function* () {
  const deletions = yield* Deletions
  const operations: Operations<typeof DeletionsApi, typeof operationErrors> = {
    delete: ({ path, principal }) => deletions.deleteSession(principal, path.session_id),
    getDeletion: ({ path, principal }) => deletions.get(principal, path.session_id)
  }
  return operations
})

export const projects = Effect.gen(function* () {
  const deletions = yield* ProjectDeletions
  const operations: Operations<typeof ProjectDeletionsApi, typeof operationErrors> = {
    delete: ({ path, principal }) => deletions.deleteProject(principal, path.project_id),
    getDeletion: ({ path, principal }) => deletions.get(principal, path.project_id)
  }
  return operations
})

export const workspaces = Effect.gen(function* () {
  const deletions = yield* Deletions
  const retention = yield* Retention
  const workspaces = yield* WorkspaceDeletions
  const operations: Operations<typeof ReceiptsApi, typeof operationErrors> = {
    delete: ({ path, principal, query }) => workspaces.deleteWorkspace(principal, path.workspace_id, query.confirm),
    getDeletion: ({ path, principal }) => workspaces.get(principal, path.workspace_id),
    getRetentionPreview: ({ path, principal, query }) =>
      retention.preview(principal, path.workspace_id, query.sessions_days),
    listSessionDeletions: ({ path, principal, query }) => deletions.list(principal, path.workspace_id, query)
  }
  return operations
})
