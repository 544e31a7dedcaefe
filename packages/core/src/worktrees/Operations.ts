import { Effect } from "effect"
import type { Operations } from "../store/Operation.js"
import type { operationErrors } from "./Errors.js"
import type { FilesApi } from "./FilesApi.js"
import { Repositories } from "./Repositories.js"
import type { RepositoriesApi } from "./RepositoryCheck.js"
import { SessionFiles } from "./SessionFiles.js"

export const workspaces = Effect.gen(function* () {
  const repositories = yield* Repositories
  const operations: Operations<typeof RepositoriesApi, typeof operationErrors> = {
    getRepository: ({ path, principal, query }) => repositories.check(principal, path.workspace_id, query)
  }
  return operations
})

export const sessions = Effect.gen(function* () {
  const files = yield* SessionFiles
  const operations: Operations<typeof FilesApi, typeof operationErrors> = {
    uploadFile: ({ body, path, principal }) => files.upload(principal, path.session_id, body),
    listFiles: ({ path, principal, query }) => files.list(principal, path.session_id, query.path),
    getFile: ({ path, principal, query }) => files.read(principal, path.session_id, query.path)
  }
  return operations
})
