import type { Principal } from "@reins/base/domain/Principal"
import { notFound } from "@reins/base/domain/ReinsError"
import { Effect } from "effect"
import { DeliveryStore } from "../deliveries/DeliveryStore.js"
import { makeRequest } from "../deliveries/RequestDelivery.js"
import { MergeRequestStore } from "../requests/rows/MergeRequestStore.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import { Journal } from "../store/Journal.js"
import { attentionStates } from "./Care.js"
import { CareStore } from "./CareStore.js"
import { mergeOf } from "./Merging.js"

/** Gives the command that delivers what was proposed. */
export const makeDeliverProposed = Effect.gen(function* () {
  const journal = yield* Journal
  const store = yield* CareStore
  const sessions = yield* SessionStore
  const requests = yield* MergeRequestStore
  const deliveries = yield* DeliveryStore
  const request = yield* makeRequest

  const inside = Effect.fnUntraced(function* (principal: Principal, id: string) {
    const known = yield* store.attention(id)
    if (known === undefined) return yield* notFound()
    yield* sessions.writable(principal, known.session_id)
    yield* store.lock(known.merge_request_id)
    const attention = (yield* store.attention(id)) ?? known
    yield* attentionStates.check(attention.state, "delivering")
    const about = yield* requests.find(attention.merge_request_id)
    if (about === undefined || attention.changeset_id === null) return yield* notFound()
    const earlier = yield* deliveries.find(about.delivery_id)
    const terms = {
      onto: "head" as const,
      target_ref: about.head_branch,
      ...(earlier?.connection_id != null && { connection_id: earlier.connection_id })
    }
    const answer = yield* request(principal, attention.changeset_id, terms, mergeOf(attention))
    yield* store.move(attention, "delivering", { delivery_id: answer.delivery.id })
    return answer
  })

  return (principal: Principal, id: string) =>
    journal.command("Cares.deliver", { by: principal, about: { type: "attention", id } }, inside(principal, id))
})
