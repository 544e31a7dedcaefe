import { Effect } from "effect"
import type { Operations } from "../store/Operation.js"
import { Applications } from "./Applications.js"
import type { CapturesApi } from "./CapturesApi.js"
import type { ApplicationsApi, ChangesetsApi } from "./ChangesApi.js"
import { Changesets } from "./Changesets.js"
import type { operationErrors } from "./Errors.js"

export const sessions = Effect.gen(function* () {
  const changesets = yield* Changesets
  const operations: Operations<typeof CapturesApi, typeof operationErrors> = {
    getChanges: ({ path, principal }) => changesets.changes(principal, path.session_id),
    listChangesets: ({ path, principal, query }) => changesets.list(principal, path.session_id, query),
    capture: ({ body, path, principal }) => changesets.capture(principal, path.session_id, body)
  }
  return operations
})

export const changesets = Effect.gen(function* () {
  const changesets = yield* Changesets
  const applications = yield* Applications
  const operations: Operations<typeof ChangesetsApi, typeof operationErrors> = {
    get: ({ path, principal }) => changesets.get(principal, path.changeset_id),
    getDiff: ({ path, principal, query }) => changesets.diff(principal, path.changeset_id, query),
    listFiles: ({ path, principal, query }) => changesets.files(principal, path.changeset_id, query),
    apply: ({ body, path, principal }) => applications.request(principal, path.changeset_id, body)
  }
  return operations
})

export const applications = Effect.gen(function* () {
  const applications = yield* Applications
  const operations: Operations<typeof ApplicationsApi, typeof operationErrors> = {
    get: ({ path, principal }) => applications.get(principal, path.application_id)
  }
  return operations
})
