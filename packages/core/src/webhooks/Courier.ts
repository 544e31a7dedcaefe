import { failpoint } from "@reins/base/base/Failpoint"
import type { Observations } from "@reins/base/base/Observer"
import { fromMillis, type Timestamp, toMillis } from "@reins/base/domain/Timestamp"
import { Clock, Effect, Random } from "effect"
import type { HeldCommit } from "../events/Follower.js"
import type { HoldLost } from "../events/FollowerStore.js"
import type { Commit } from "../store/Commit.js"
import type { DeliveryAttemptEnd, DeliveryQueue, QueuedDelivery } from "./DeliveryQueue.js"
import { type Posted, type PostServices, postDelivery } from "./Post.js"
import type { WebhookDisabledReason } from "./Webhook.js"
import type { EndpointRow } from "./WebhookStore.js"

/** The services that a courier needs. */
export interface Couriering extends PostServices {
  readonly observer: Observations
  readonly queue: DeliveryQueue["Type"]
  /** The places for attempts of all couriers of this process. */
  readonly places: Effect.Semaphore
  /** Tells the owners that an endpoint was disabled. */
  readonly tellOwners: (endpoint: EndpointRow, reason: WebhookDisabledReason) => Effect.Effect<void, never, Commit>
}

/** Milliseconds between the attempts of a delivery. After the last of them it has failed. */
const backOff = [5, 30, 120, 600, 1800, 3600, 7200, 14_400, 28_800, 43_200, 86_400].map((seconds) => seconds * 1000)

/** An endpoint that nothing gets through to for so long is disabled. */
const patienceMs = 5 * 24 * 60 * 60 * 1000

const window = 128
/** The sessions that one endpoint is sent deliveries of at the same time, while it takes them. */
const lanes = 8

/**
 * Attempts the deliveries of an endpoint that are due, and gives the time until there may be more to do. The deliveries of a session leave one after
 * another, in the order of its events.
 */
export const send = Effect.fnUntraced(function* (on: Couriering, endpoint: EndpointRow, commit: HeldCommit) {
  const at = yield* Clock.currentTimeMillis
  const until = (time: Timestamp | null) => (time === null ? Number.POSITIVE_INFINITY : toMillis(time) - at)
  if (endpoint.paused_until !== null && until(endpoint.paused_until) > 0)
    return { waitMs: until(endpoint.paused_until) }
  const { due, retryAt } = yield* on.queue.due(endpoint.id, window)
  if (due.length === 0) return { waitMs: Math.max(1, until(retryAt)) }
  const bySession = new Map<string, Array<QueuedDelivery>>()
  for (const delivery of due) {
    const lane = delivery.session_id ?? delivery.id
    bySession.set(lane, [...(bySession.get(lane) ?? []), delivery])
  }
  // One that fails is tried with one delivery at a time, so that it is not overrun when it comes back.
  const isFailing = endpoint.failing_since !== null
  const sent = isFailing ? [due.slice(0, 1)] : [...bySession.values()]
  const open = { until: (yield* Clock.currentTimeMillis) + roundMs }
  const attemptOne = (delivery: QueuedDelivery) => on.places.withPermits(1)(attempt(on, endpoint, delivery, commit))
  yield* Effect.forEach(sent, (lane) => sendInTurn(attemptOne, open, lane), { concurrency: lanes, discard: true })
  return { waitMs: 0 }
})

/**
 * A round begins no attempt after so many milliseconds, so that a slow endpoint is soon sent a test, and soon sees a change of its address or its
 * secret.
 */
const roundMs = 1_000

/** The time after which a round begins no attempt, in milliseconds since 1970. */
interface Open {
  until: number
}

/** Attempts deliveries one after another, up to the first that does not get through, or until the round ends or the endpoint wants a pause. */
const sendInTurn = Effect.fnUntraced(function* (
  attemptOne: (delivery: QueuedDelivery) => Effect.Effect<DeliveryAttemptEnd, HoldLost>,
  open: Open,
  lane: ReadonlyArray<QueuedDelivery>
): Effect.fn.Return<void, HoldLost> {
  for (const delivery of lane) {
    if ((yield* Clock.currentTimeMillis) >= open.until) return
    const end = yield* attemptOne(delivery)
    if (end.pausedUntil !== null) open.until = 0
    if (end.state === "pending") return
  }
})

const attempt = Effect.fnUntraced(function* (
  on: Couriering,
  endpoint: EndpointRow,
  delivery: QueuedDelivery,
  commit: HeldCommit
) {
  const beganMs = yield* Clock.currentTimeMillis
  const posted = yield* postDelivery(on, endpoint, delivery, beganMs)
  yield* failpoint("webhook.sent")
  const endedMs = yield* Clock.currentTimeMillis
  const end = yield* commit(
    on.queue.attempted(
      delivery,
      (failingSince) => endOf(failingSince, delivery, { posted, beganMs, endedMs }),
      (reason) => on.tellOwners(endpoint, reason)
    )
  )
  yield* failpoint("webhook.recorded")
  yield* on.observer.webhookAttempted({ state: end.state, status: posted.status, durationMs: endedMs - beganMs })
  if (end.disable !== null) yield* on.observer.webhookDisabled(endpoint.id, end.disable)
  return end
})

interface Attempted {
  readonly posted: Posted
  readonly beganMs: number
  readonly endedMs: number
}

/** The consequences of an attempt, for the delivery and for its endpoint. */
const endOf = Effect.fnUntraced(function* (
  failingBefore: Timestamp | null,
  delivery: QueuedDelivery,
  { beganMs, endedMs, posted: { isExpired, pauseMs, ...posted } }: Attempted
): Effect.fn.Return<DeliveryAttemptEnd> {
  const attempt = { started_at: fromMillis(beganMs), duration_ms: endedMs - beganMs, ...posted }
  const ended = { attempt, retryAt: null, pausedUntil: null, disable: null }
  if (attempt.error === null) return { ...ended, state: "succeeded", failingSince: null }
  // An event that is gone says nothing of the endpoint, and a test is looked at by a person.
  if (isExpired || delivery.session_id === null) return { ...ended, state: "failed", failingSince: failingBefore }
  const failingSince = failingBefore ?? fromMillis(endedMs)
  const isWeary = endedMs - toMillis(failingSince) > patienceMs
  const disable = attempt.status === 410 ? "gone" : isWeary ? "failing" : null
  const pausedUntil = pauseMs > 0 ? fromMillis(endedMs + pauseMs) : null
  const backOffMs = backOff[delivery.attempt_count - delivery.series_from]
  if (backOffMs === undefined) return { ...ended, state: "failed", failingSince, pausedUntil, disable }
  const waitMs = Math.max(pauseMs, Math.round(backOffMs * (yield* Random.nextRange(0.9, 1.1))))
  return { attempt, state: "pending", retryAt: fromMillis(endedMs + waitMs), failingSince, pausedUntil, disable }
})
