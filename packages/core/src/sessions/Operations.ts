import { Effect } from "effect"
import type { Operations } from "../store/Operation.js"
import type { SessionsApi } from "./creation/SessionsApi.js"
import type { operationErrors } from "./Errors.js"
import { Interactions } from "./Interactions.js"
import { Messages } from "./Messages.js"
import type { MessagesApi, TurnsApi } from "./messages/ConversationApi.js"
import type { InteractionsApi } from "./questions/InteractionsApi.js"
import { Sessions } from "./Sessions.js"
import { Turns } from "./Turns.js"
import type { WorkspaceUsageApi } from "./usage/Usage.js"
import { Usages } from "./usage/Usages.js"

export const sessions = Effect.gen(function* () {
  const sessions = yield* Sessions
  const usages = yield* Usages
  const operations: Operations<typeof SessionsApi, typeof operationErrors> = {
    list: ({ path, principal, query }) => sessions.list(principal, path.workspace_id, query),
    create: ({ body, path, principal }) => sessions.create(principal, path.workspace_id, body),
    get: ({ path, principal }) => sessions.get(principal, path.session_id),
    getUsage: ({ path, principal }) => usages.session(principal, path.session_id),
    update: ({ body, path, principal }) => sessions.update(principal, path.session_id, body),
    archive: ({ path, principal }) => sessions.archive(principal, path.session_id),
    unarchive: ({ path, principal }) => sessions.unarchive(principal, path.session_id),
    close: ({ path, principal }) => sessions.close(principal, path.session_id)
  }
  return operations
})

export const workspaces = Effect.gen(function* () {
  const usages = yield* Usages
  const operations: Operations<typeof WorkspaceUsageApi, typeof operationErrors> = {
    getUsage: ({ path, principal, query }) => usages.workspace(principal, path.workspace_id, query)
  }
  return operations
})

export const messages = Effect.gen(function* () {
  const messages = yield* Messages
  const operations: Operations<typeof MessagesApi, typeof operationErrors> = {
    list: ({ path, principal, query }) => messages.list(principal, path.session_id, query),
    send: ({ body, path, principal }) => messages.send(principal, path.session_id, body)
  }
  return operations
})

export const turns = Effect.gen(function* () {
  const turns = yield* Turns
  const operations: Operations<typeof TurnsApi, typeof operationErrors> = {
    list: ({ path, principal, query }) => turns.list(principal, path.session_id, query),
    get: ({ path, principal }) => turns.get(principal, path.turn_id),
    update: ({ body, path, principal }) => turns.update(principal, path.turn_id, body),
    cancel: ({ path, principal }) => turns.cancel(principal, path.turn_id),
    retry: ({ path, principal }) => turns.retry(principal, path.turn_id),
    acknowledge: ({ path, principal }) => turns.acknowledge(principal, path.turn_id)
  }
  return operations
})

export const interactions = Effect.gen(function* () {
  const interactions = yield* Interactions
  const operations: Operations<typeof InteractionsApi, typeof operationErrors> = {
    list: ({ path, principal, query }) => interactions.list(principal, path.session_id, query),
    answer: ({ body, path, principal }) => interactions.answer(principal, path.interaction_id, body),
    claim: ({ body, path, principal }) => interactions.claim(principal, path.interaction_id, body)
  }
  return operations
})
