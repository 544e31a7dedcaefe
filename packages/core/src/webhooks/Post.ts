import { fromMillis } from "@reins/base/domain/Timestamp"
import type { Vault } from "@reins/base/secrets/Vault"
import type { Outbound } from "@reins/machine/outbound/Outbound"
import { Effect } from "effect"
import type { EventLog } from "../events/EventLog.js"
import { retryAfterMs } from "./RetryAfter.js"
import { secretContext } from "./SealedSecrets.js"
import { evidence, signed } from "./Signature.js"
import { type WebhookDelivery, webhookTest } from "./Webhook.js"
import type { EndpointRow } from "./WebhookStore.js"

/** The services that a delivery is sent with. */
export interface PostServices {
  readonly log: EventLog["Type"]
  readonly outbound: Outbound["Type"]
  readonly vault: Vault["Type"]
}

/** The outcome of one request to an endpoint. */
export interface Posted {
  /** The status of the answer; null when there was none. */
  readonly status: number | null
  /** The part of the answer that is kept; null when there was none. */
  readonly answer: string | null
  /** The reason why it did not get through, as a sentence; null when it did. */
  readonly error: string | null
  /** True when there was nothing to send, because the event is no longer kept. */
  readonly isExpired: boolean
  /** The milliseconds for which the endpoint wants to be left alone; 0 when it does not say. */
  readonly pauseMs: number
}

const nothing = { status: null, answer: null, isExpired: false, pauseMs: 0 }

/** Signs the event of a delivery and sends it. An event that is no longer kept is not sent. */
export const postDelivery = Effect.fnUntraced(function* (
  { log, outbound, vault }: PostServices,
  endpoint: EndpointRow,
  delivery: WebhookDelivery,
  atMs: number
): Effect.fn.Return<Posted> {
  const body = yield* bodyOf(log, endpoint, delivery)
  if (body === undefined)
    return { ...nothing, isExpired: true, error: "The event is no longer kept, so it was not sent." }
  const { previous_secret, previous_until, secret } = endpoint
  const isOverlapping = previous_secret !== null && previous_until !== null && previous_until > fromMillis(atMs)
  const secrets = yield* Effect.option(
    Effect.forEach(isOverlapping ? [secret, previous_secret] : [secret], (sealed) =>
      vault.unseal(sealed, secretContext(endpoint))
    )
  )
  if (secrets._tag === "None") return { ...nothing, error: "The secret of the endpoint cannot be opened. Rotate it." }
  const headers = {
    "content-type": "application/json",
    "user-agent": "Reins-Webhooks/1",
    ...signed(secrets.value, { id: delivery.event_id, seconds: Math.floor(atMs / 1000), body })
  }
  return yield* outbound.fetch(endpoint.url, { method: "POST", headers, body }, limits).pipe(
    Effect.map((answer) => ({
      ...nothing,
      status: answer.status,
      answer: evidence(answer.body),
      error: errorOf(answer.status),
      pauseMs: retryAfterMs(answer, atMs)
    })),
    Effect.catchAll(({ message }) => Effect.succeed({ ...nothing, error: message }))
  )
})

/** The status decides, so a receiver that has said 200 and then stalls, breaks off or sends much is sent nothing again. */
const limits = { timeoutMs: 15_000, bodyWaitMs: 2_000, maxBytes: 16_384 }

const errorOf = (status: number): string | null => {
  if (status >= 200 && status < 300) return null
  return status >= 300 && status < 400 && status !== 304
    ? `It was answered with a redirect (${status}), which is not followed.`
    : `It was answered with ${status}.`
}

/** The body of a delivery; undefined when its event is no longer kept. */
const bodyOf = Effect.fnUntraced(function* (
  log: EventLog["Type"],
  { id, workspace_id }: EndpointRow,
  { created_at, event_id, position, seq, session_id }: WebhookDelivery
) {
  if (session_id === null || seq === null) {
    const data = { id: event_id, type: webhookTest, workspace_id, webhook_endpoint_id: id, recorded_at: created_at }
    return JSON.stringify({ type: webhookTest, timestamp: created_at, position, data })
  }
  const { events } = yield* log.read(session_id, seq - 1, 1)
  const event = events[0]
  if (event === undefined || event.seq !== seq) return undefined
  const { recorded_at, type } = JSON.parse(event.envelope)
  const head = JSON.stringify({ type, timestamp: recorded_at, position })
  return `${head.slice(0, -1)},"data":${event.envelope}}`
})
