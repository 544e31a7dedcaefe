import { Changesets } from "@reins/core/changes/Changesets"
import { Messages } from "@reins/core/sessions/Messages"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Turns } from "@reins/core/sessions/Turns"
import { Effect } from "effect"
import { EventStreams } from "../EventStreams.js"
import type { Handlers } from "./Handlers.js"

export const sessions = Effect.gen(function* () {
  const sessions = yield* Sessions
  const changesets = yield* Changesets
  const events = yield* EventStreams
  const handlers: Handlers<"sessions"> = {
    list: ({ path, principal, query }) => sessions.list(principal, path.workspace_id, query),
    create: ({ body, path, principal }) => sessions.create(principal, path.workspace_id, body),
    get: ({ path, principal }) => sessions.get(principal, path.session_id),
    update: ({ body, path, principal }) => sessions.update(principal, path.session_id, body),
    archive: ({ path, principal }) => sessions.archive(principal, path.session_id),
    unarchive: ({ path, principal }) => sessions.unarchive(principal, path.session_id),
    close: ({ path, principal }) => sessions.close(principal, path.session_id),
    changes: ({ path, principal }) => changesets.changes(principal, path.session_id),
    listChangesets: ({ path, principal, query }) => changesets.list(principal, path.session_id, query),
    capture: ({ body, path, principal }) => changesets.capture(principal, path.session_id, body),
    events: ({ exchange, path, principal, query }) => events.answer(exchange, principal, path.session_id, query),
    executor: ({ path, principal }) => sessions.executor(principal, path.session_id)
  }
  return handlers
})

export const messages = Effect.gen(function* () {
  const messages = yield* Messages
  const handlers: Handlers<"messages"> = {
    list: ({ path, principal, query }) => messages.list(principal, path.session_id, query),
    send: ({ body, path, principal }) => messages.send(principal, path.session_id, body)
  }
  return handlers
})

export const turns = Effect.gen(function* () {
  const turns = yield* Turns
  const handlers: Handlers<"turns"> = {
    list: ({ path, principal, query }) => turns.list(principal, path.session_id, query),
    get: ({ path, principal }) => turns.get(principal, path.turn_id),
    cancel: ({ path, principal }) => turns.cancel(principal, path.turn_id),
    retry: ({ path, principal }) => turns.retry(principal, path.turn_id),
    acknowledge: ({ path, principal }) => turns.acknowledge(principal, path.turn_id)
  }
  return handlers
})
