import { Interactions } from "@reins/core/sessions/Interactions"
import { Messages } from "@reins/core/sessions/Messages"
import { Turns } from "@reins/core/sessions/Turns"
import { Effect } from "effect"
import type { Handlers } from "./Handlers.js"

export const messages = Effect.map(
  Messages,
  (messages): Handlers<"messages"> => ({
    list: ({ path, principal, query }) => messages.list(principal, path.session_id, query),
    send: ({ body, path, principal }) => messages.send(principal, path.session_id, body)
  })
)

export const turns = Effect.map(
  Turns,
  (turns): Handlers<"turns"> => ({
    list: ({ path, principal, query }) => turns.list(principal, path.session_id, query),
    get: ({ path, principal }) => turns.get(principal, path.turn_id),
    update: ({ body, path, principal }) => turns.update(principal, path.turn_id, body),
    cancel: ({ path, principal }) => turns.cancel(principal, path.turn_id),
    retry: ({ path, principal }) => turns.retry(principal, path.turn_id),
    acknowledge: ({ path, principal }) => turns.acknowledge(principal, path.turn_id)
  })
)

export const interactions = Effect.map(
  Interactions,
  (interactions): Handlers<"interactions"> => ({
    list: ({ path, principal, query }) => interactions.list(principal, path.session_id, query),
    answer: ({ body, path, principal }) => interactions.answer(principal, path.interaction_id, body)
  })
)
