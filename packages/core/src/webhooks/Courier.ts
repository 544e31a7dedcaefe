import { Clock, Effect, Random } from "effect"
import { failpoint } from "../base/Failpoint.js"
import type { Observations } from "../base/Observer.js"
import { fromMillis, type Timestamp, toMillis } from "../domain/Timestamp.js"
import { typesNamed } from "../events/EventTypes.js"
import type { WorkspaceEvents } from "../events/WorkspaceEvents.js"
import type { Commit } from "../store/Commit.js"
import { isWanted, type WorkspaceFilter } from "../store/WorkspaceLog.js"
import type { DeliveryAttemptEnd, DeliveryQueue, HoldLost, QueuedDelivery } from "./DeliveryQueue.js"
import { type Posted, type PostServices, postDelivery } from "./Post.js"
import type { WebhookDisabledReason } from "./Webhook.js"
import type { EndpointRow } from "./WebhookStore.js"

/** The services that a courier needs. */
export interface Couriering extends PostServices {
  /** The types of events that endpoints may ask for. */
  readonly types: ReadonlyArray<string>
  readonly events: WorkspaceEvents["Type"]
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
 * Makes the deliveries of an endpoint that the log asks for, attempts those that are due, and gives the milliseconds until there may be more
 * to do. The deliveries of a session leave one after another, in the order of its events.
 */
export const round = Effect.fnUntraced(function* (on: Couriering, endpoint: EndpointRow) {
  yield* derive(on, endpoint)
  const at = yield* Clock.currentTimeMillis
  const until = (time: Timestamp | null) => (time === null ? longestWaitMs : toMillis(time) - at)
  if (endpoint.paused_until !== null && until(endpoint.paused_until) > 0)
    return Math.min(longestWaitMs, until(endpoint.paused_until))
  const { due, retryAt } = yield* on.queue.due(endpoint.id, window)
  if (due.length === 0) return Math.min(longestWaitMs, Math.max(1, until(retryAt)))
  const bySession = new Map<string, Array<QueuedDelivery>>()
  for (const delivery of due) {
    const lane = delivery.session_id ?? delivery.id
    bySession.set(lane, [...(bySession.get(lane) ?? []), delivery])
  }
  // One that fails is tried with one delivery at a time, so that it is not overrun when it comes back.
  const isFailing = endpoint.failing_since !== null
  const sent = isFailing ? [due.slice(0, 1)] : [...bySession.values()]
  const open = { until: (yield* Clock.currentTimeMillis) + roundMs }
  yield* Effect.forEach(sent, (lane) => sendInTurn(on, endpoint, open, lane), { concurrency: lanes, discard: true })
  return 0
})

/** The longest time that a lost ring delays a delivery, and well below the time of a hold. */
export const longestWaitMs = 5_000

const filterOf = ({ label, project_id, types }: EndpointRow, known: ReadonlyArray<string>): WorkspaceFilter => {
  const named: ReadonlyArray<string> | null = types === null ? null : JSON.parse(types)
  const end = label?.indexOf("=") ?? 0
  return {
    types: named === null ? undefined : new Set(named.flatMap((name) => typesNamed(name, known))),
    projectId: project_id ?? undefined,
    label: label === null ? undefined : { name: label.slice(0, end), value: label.slice(end + 1) }
  }
}

/** Reads the log from the position of the endpoint on, and makes a delivery of each event that it wants. */
const derive = Effect.fnUntraced(function* ({ events, queue, types }: Couriering, endpoint: EndpointRow) {
  const filter = filterOf(endpoint, types)
  const { first_position } = yield* events.ends(endpoint.workspace_id)
  if (endpoint.position < first_position - 1)
    yield* Effect.logWarning("events for a webhook endpoint are no longer kept", {
      webhook_endpoint_id: endpoint.id,
      after: endpoint.position,
      first_position
    })
  let position = Math.max(endpoint.position, first_position - 1)
  while (true) {
    const slice = yield* events.read(endpoint.workspace_id, position, 500)
    const last = slice.events.at(-1)
    if (last === undefined) return
    position = last.seq
    const wanted = slice.events
      .filter((entry) => isWanted(filter, entry))
      .map(({ envelope, seq, type }) => {
        const event = JSON.parse(envelope)
        return { event_id: event.id, position: seq, seq: event.seq, session_id: event.session_id, type }
      })
    yield* failpoint("webhook.log_read")
    yield* queue.derive(endpoint.id, position, wanted)
    yield* failpoint("webhook.derived")
    if (slice.isWhole) return
  }
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
  on: Couriering,
  endpoint: EndpointRow,
  open: Open,
  lane: ReadonlyArray<QueuedDelivery>
): Effect.fn.Return<void, HoldLost> {
  for (const delivery of lane) {
    if ((yield* Clock.currentTimeMillis) >= open.until) return
    const end = yield* on.places.withPermits(1)(attempt(on, endpoint, delivery))
    if (end.pausedUntil !== null) open.until = 0
    if (end.state === "pending") return
  }
})

const attempt = Effect.fnUntraced(function* (on: Couriering, endpoint: EndpointRow, delivery: QueuedDelivery) {
  const beganMs = yield* Clock.currentTimeMillis
  const posted = yield* postDelivery(on, endpoint, delivery, beganMs)
  yield* failpoint("webhook.sent")
  const endedMs = yield* Clock.currentTimeMillis
  const end = yield* on.queue.attempted(
    delivery,
    (failingSince) => endOf(failingSince, delivery, { posted, beganMs, endedMs }),
    (reason) => on.tellOwners(endpoint, reason)
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
