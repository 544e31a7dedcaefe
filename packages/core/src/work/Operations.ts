import { SessionId } from "@reins/base/domain/Ids"
import { Effect, Schema } from "effect"
import type { Operations } from "../store/Operation.js"
import type { operationErrors } from "./Errors.js"
import type { SessionSeenApi, WorkspaceWorkApi } from "./WorkApi.js"
import { Works } from "./Works.js"

/** A text that is no id is of no session, and a database may not take it. */
const isSessionId = Schema.is(SessionId)

export const workspaces = Effect.gen(function* () {
  const works = yield* Works
  const operations: Operations<typeof WorkspaceWorkApi, typeof operationErrors> = {
    listWork: ({ path, principal, query: { session_ids, ...query } }) =>
      works.list(principal, path.workspace_id, {
        ...query,
        ...(session_ids !== undefined && { sessionIds: [...new Set(session_ids.split(","))].filter(isSessionId) })
      })
  }
  return operations
})

export const sessions = Effect.gen(function* () {
  const works = yield* Works
  const operations: Operations<typeof SessionSeenApi, typeof operationErrors> = {
    markSeen: ({ body, path, principal }) => works.see(principal, path.session_id, body.seq),
    markUnseen: ({ path, principal }) => works.unsee(principal, path.session_id)
  }
  return operations
})
