import { Effect } from "effect"
import type { Operations } from "../store/Operation.js"
import type { operationErrors } from "./Errors.js"
import type { FilesApi } from "./FilesApi.js"
import { SessionFiles } from "./SessionFiles.js"

export const sessions = Effect.gen(function* () {
  const files = yield* SessionFiles
  const operations: Operations<typeof FilesApi, typeof operationErrors> = {
    uploadFile: ({ body, path, principal }) => files.upload(principal, path.session_id, body),
    listFiles: ({ path, principal, query }) => files.list(principal, path.session_id, query.path),
    getFile: ({ path, principal, query }) => files.read(principal, path.session_id, query.path)
  }
  return operations
})
