import { Effect } from "effect"
import type { Operations } from "../store/Operation.js"
import { Deletions } from "./Deletions.js"
import type { DeletionsApi, ProjectDeletionsApi, ReceiptsApi } from "./DeletionsApi.js"
import type { operationErrors } from "./Errors.js"
import { ProjectDeletions } from "./ProjectDeletions.js"

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
  const operations: Operations<typeof ReceiptsApi, typeof operationErrors> = {
    listSessionDeletions: ({ path, principal, query }) => deletions.list(principal, path.workspace_id, query)
  }
  return operations
})
