import { requireAll } from "@reins/base/domain/Condition"
import type { Principal } from "@reins/base/domain/Principal"
import { notFound } from "@reins/base/domain/ReinsError"
import { Effect } from "effect"
import { actorOf } from "../access/Access.js"
import { jobStates } from "../jobs/Job.js"
import { JobStore } from "../jobs/JobStore.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import type { Commit } from "../store/Commit.js"
import { existingOf } from "../store/Existing.js"
import { Journal } from "../store/Journal.js"
import type { DeliveryAnswer } from "./DeliveriesApi.js"
import { type CommandedDelivery, deliveryAnswers, refreshJobKind } from "./DeliveryAnswers.js"
import { deliveryCancelled } from "./DeliveryEnd.js"
import { deliveryRules } from "./DeliveryRules.js"
import { DeliveryStore } from "./DeliveryStore.js"

/** The commands for a delivery that there is. */
export const deliveryCommands = Effect.gen(function* () {
  const journal = yield* Journal
  const sessions = yield* SessionStore
  const store = yield* DeliveryStore
  const answers = yield* deliveryAnswers
  const refresh = yield* makeRefresh
  const cancel = yield* makeCancel
  const existing = existingOf("delivery", store.find)

  /** A command for a delivery that the principal may change. */
  const commanding =
    <E>(name: string, inside: (commanded: CommandedDelivery) => Effect.Effect<DeliveryAnswer, E, Commit>) =>
    (principal: Principal, id: string) =>
      journal.command(
        name,
        { by: principal, about: { type: "delivery", id } },
        Effect.gen(function* () {
          const found = yield* store.find(id)
          if (found === undefined) return yield* notFound()
          const session = yield* sessions.writable(principal, found.session_id)
          return yield* inside({ principal, session, delivery: yield* existing(id) })
        })
      )

  return {
    retry: commanding("Deliveries.retry", answers.retry),
    refresh: commanding("Deliveries.refresh", refresh),
    cancel: commanding("Deliveries.cancel", cancel)
  }
})

/** The inside of `Deliveries.refresh`. */
const makeRefresh = Effect.gen(function* () {
  const jobs = yield* JobStore
  const answers = yield* deliveryAnswers
  return Effect.fnUntraced(function* (commanded: CommandedDelivery) {
    const { delivery } = commanded
    if (delivery.state === "blocked") return yield* answers.retry(commanded)
    const last = yield* jobs.newestOf(delivery.id)
    return jobStates.isTerminal(last.state) && delivery.transport !== "patch"
      ? yield* answers.start(refreshJobKind, commanded)
      : yield* answers.keep(commanded)
  })
})

/** The inside of `Deliveries.cancel`. */
const makeCancel = Effect.gen(function* () {
  const jobs = yield* JobStore
  const store = yield* DeliveryStore
  const answers = yield* deliveryAnswers
  const cancelled = yield* deliveryCancelled
  return Effect.fnUntraced(function* (commanded: CommandedDelivery) {
    const { delivery, principal } = commanded
    const actor = actorOf(principal)
    yield* requireAll(deliveryRules.cancel, delivery)
    yield* jobs.cancel((yield* jobs.newestOf(delivery.id)).job_id)
    const { state } = yield* jobs.newestOf(delivery.id)
    if (state === "cancelled") {
      if (delivery.state === "pending") yield* store.move(delivery.id, { state: "executing" }, actor)
      yield* cancelled(delivery.id, actor)
    }
    return yield* answers.keep(commanded)
  })
})
