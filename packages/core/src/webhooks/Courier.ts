import { Clock, Effect, Random } from "effect"
import { workspaceEventTypes } from "../domain/Event.js"
import { fromMillis, fromNow, now, toMillis } from "../domain/Timestamp.js"
import type { WebhookDelivery, WebhookDisabledReason } from "../domain/Webhook.js"
import type { EventLog } from "../events/EventLog.js"
import { typesNamed } from "../events/EventTypes.js"
import type { WorkspaceEvents } from "../events/WorkspaceEvents.js"
import type { Outbound } from "../outbound/Outbound.js"
import type { Vault } from "../secrets/Vault.js"
import type { Commit } from "../store/Commit.js"
import { isWanted, type WorkspaceFilter } from "../store/WorkspaceLog.js"
import type { AttemptEnd, DeliveryQueue, HoldLost } from "./DeliveryQueue.js"
import { secretContext } from "./SealedSecrets.js"
import { evidence, signed } from "./Signature.js"
import type { EndpointRow } from "./WebhookStore.js"

/** The services that a courier needs. */
export interface Couriering {
  readonly events: WorkspaceEvents["Type"]
  readonly log: EventLog["Type"]
  readonly outbound: Outbound["Type"]
  readonly queue: DeliveryQueue["Type"]
  readonly vault: Vault["Type"]
  /** The places for attempts of all couriers of this process. */
  readonly places: Effect.Semaphore
  /** Tells the owners that an endpoint was disabled. */
  readonly tellOwners: (endpoint: EndpointRow, reason: WebhookDisabledReason) => Effect.Effect<void, never, Commit>
}

/** Milliseconds between the attempts of a delivery. After the last of them it has failed. */
const backOff = [5, 30, 120, 600, 1800, 3600, 7200, 14_400, 28_800, 43_200, 86_400].map((seconds) => seconds * 1000)

/** An endpoint that nothing gets through to for so long is disabled. */
const patienceMs = 5 * 24 * 60 * 60 * 1000

const attemptMs = 15_000
const window = 128
/** The sessions that one endpoint is sent deliveries of at the same time, while it takes them. */
const lanes = 8

/**
 * Makes the deliveries of an endpoint that the log asks for, attempts those that are due, and gives the milliseconds until there may be more
 * to do. The deliveries of a session leave one after another, in the order of its events.
 */
export const round = Effect.fnUntraced(function* (on: Couriering, endpoint: EndpointRow) {
  yield* derive(on, endpoint)
  const { due, retryAt } = yield* on.queue.due(endpoint.id, window)
  if (due.length === 0) {
    const at = yield* Clock.currentTimeMillis
    return retryAt === null ? longestWaitMs : Math.min(longestWaitMs, Math.max(1, toMillis(retryAt) - at))
  }
  const bySession = new Map<string, Array<WebhookDelivery>>()
  for (const delivery of due)
    bySession.set(delivery.session_id, [...(bySession.get(delivery.session_id) ?? []), delivery])
  // One that fails is tried with one delivery at a time, so that it is not overrun when it comes back.
  const isFailing = endpoint.failing_since !== null
  const sent = isFailing ? [due.slice(0, 1)] : [...bySession.values()]
  yield* Effect.forEach(sent, (lane) => sendInTurn(on, endpoint, lane), { concurrency: lanes, discard: true })
  return 0
})

/** The longest time that a lost ring delays a delivery, and well below the time of a hold. */
export const longestWaitMs = 5_000

const filterOf = ({ label, project_id, types }: EndpointRow): WorkspaceFilter => {
  const named: ReadonlyArray<string> | null = types === null ? null : JSON.parse(types)
  const end = label?.indexOf("=") ?? 0
  return {
    types: named === null ? undefined : new Set(named.flatMap((name) => typesNamed(name, workspaceEventTypes))),
    projectId: project_id ?? undefined,
    label: label === null ? undefined : { name: label.slice(0, end), value: label.slice(end + 1) }
  }
}

/** Reads the log from the position of the endpoint on, and makes a delivery of each event that it wants. */
const derive = Effect.fnUntraced(function* ({ events, queue }: Couriering, endpoint: EndpointRow) {
  const filter = filterOf(endpoint)
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
    yield* queue.derive(endpoint.id, position, wanted)
    if (slice.isWhole) return
  }
})

/** Attempts deliveries one after another, up to the first that does not get through. */
const sendInTurn = (
  on: Couriering,
  endpoint: EndpointRow,
  [first, ...rest]: ReadonlyArray<WebhookDelivery>
): Effect.Effect<void, HoldLost> =>
  first === undefined
    ? Effect.void
    : Effect.flatMap(on.places.withPermits(1)(attempt(on, endpoint, first)), (isThrough) =>
        isThrough ? sendInTurn(on, endpoint, rest) : Effect.void
      )

/** True when the delivery has ended, so that the next one of its session may leave. */
const attempt = Effect.fnUntraced(function* (on: Couriering, endpoint: EndpointRow, delivery: WebhookDelivery) {
  const beganMs = yield* Clock.currentTimeMillis
  const { answer, error, isExpired, status } = yield* post(on, endpoint, delivery, beganMs)
  const end = yield* endOf(endpoint, delivery, {
    isExpired,
    attempt: {
      started_at: fromMillis(beganMs),
      duration_ms: (yield* Clock.currentTimeMillis) - beganMs,
      status,
      error,
      answer
    }
  })
  const { disable } = end
  yield* on.queue.attempted(delivery, end, disable === null ? Effect.void : on.tellOwners(endpoint, disable))
  if (disable !== null)
    yield* Effect.logWarning("a webhook endpoint was disabled", { webhook_endpoint_id: endpoint.id, reason: disable })
  return end.state !== "pending"
})

/** Signs the event and sends it. An event that is no longer kept is not sent. */
const post = Effect.fnUntraced(function* (
  { log, outbound, vault }: Couriering,
  endpoint: EndpointRow,
  delivery: WebhookDelivery,
  atMs: number
) {
  const nothing = { status: null, answer: null, isExpired: false }
  const { events } = yield* log.read(delivery.session_id, delivery.seq - 1, 1)
  const event = events[0]
  if (event === undefined || event.seq !== delivery.seq)
    return { ...nothing, isExpired: true, error: "The event is no longer kept, so it was not sent." }
  const { previous_secret, previous_until, secret } = endpoint
  const isOverlapping = previous_secret !== null && previous_until !== null && previous_until > fromMillis(atMs)
  const secrets = yield* Effect.option(
    Effect.forEach(isOverlapping ? [secret, previous_secret] : [secret], (sealed) =>
      vault.unseal(sealed, secretContext(endpoint))
    )
  )
  if (secrets._tag === "None") return { ...nothing, error: "The secret of the endpoint cannot be opened. Rotate it." }
  const { recorded_at, type } = JSON.parse(event.envelope)
  const head = JSON.stringify({ type, timestamp: recorded_at, position: delivery.position })
  const body = `${head.slice(0, -1)},"data":${event.envelope}}`
  const headers = {
    "content-type": "application/json",
    "user-agent": "Reins-Webhooks/1",
    ...signed(secrets.value, { id: delivery.event_id, seconds: Math.floor(atMs / 1000), body })
  }
  return yield* outbound.fetch(endpoint.url, { method: "POST", headers, body }, { timeoutMs: attemptMs }).pipe(
    Effect.map((answer) => ({
      ...nothing,
      status: answer.status,
      answer: evidence(answer.body),
      error: answer.status < 300 ? null : `It was answered with ${answer.status}.`
    })),
    Effect.catchAll(({ message }) => Effect.succeed({ ...nothing, error: message }))
  )
})

interface Attempted {
  readonly isExpired: boolean
  readonly attempt: AttemptEnd["attempt"]
}

const endOf = Effect.fnUntraced(function* (
  endpoint: EndpointRow,
  { attempt_count }: WebhookDelivery,
  { attempt, isExpired }: Attempted
) {
  if (attempt.error === null)
    return { attempt, state: "succeeded", retryAt: null, failingSince: null, disable: null } satisfies AttemptEnd
  // An event that is gone says nothing of the endpoint.
  const { failing_since } = endpoint
  if (isExpired)
    return { attempt, state: "failed", retryAt: null, failingSince: failing_since, disable: null } satisfies AttemptEnd
  const at = yield* now
  const failingSince = failing_since ?? at
  const isWeary = toMillis(at) - toMillis(failingSince) > patienceMs
  const disable = attempt.status === 410 ? "gone" : isWeary ? "failing" : null
  const delayMs = backOff[attempt_count]
  const retryAt =
    delayMs === undefined ? null : yield* fromNow(Math.round(delayMs * (yield* Random.nextRange(0.9, 1.1))))
  const state = delayMs === undefined ? "failed" : "pending"
  return { attempt, state, retryAt, failingSince, disable } satisfies AttemptEnd
})
