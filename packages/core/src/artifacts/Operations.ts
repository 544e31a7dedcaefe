import { Effect } from "effect"
import type { Operations } from "../store/Operation.js"
import { Artifacts } from "./Artifacts.js"
import type { ArtifactsApi, SessionArtifactsApi } from "./ArtifactsApi.js"
import type { operationErrors } from "./Errors.js"

export const sessions = Effect.gen(function* () {
  const artifacts = yield* Artifacts
  const operations: Operations<typeof SessionArtifactsApi, typeof operationErrors> = {
    listArtifacts: ({ path, principal, query }) => artifacts.list(principal, path.session_id, query)
  }
  return operations
})

export const artifacts = Effect.gen(function* () {
  const artifacts = yield* Artifacts
  const operations: Operations<typeof ArtifactsApi, typeof operationErrors> = {
    get: ({ path, principal }) => artifacts.get(principal, path.artifact_id),
    getContent: ({ path, principal }) =>
      Effect.map(artifacts.content(principal, path.artifact_id), ({ bytes }) => bytes),
    delete: ({ path, principal }) => artifacts.delete(principal, path.artifact_id)
  }
  return operations
})
