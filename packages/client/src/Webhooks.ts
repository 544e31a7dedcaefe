import type { WorkspaceEvent } from "./generated/Resources.js"

/** An event of a session, as an endpoint is sent it. */
export interface WebhookEventMessage {
  /** The type of the event, as `turn.action_required`. */
  readonly type: WorkspaceEvent["event"]["type"]
  /** The time at which the event was committed. */
  readonly timestamp: string
  /** The position of the event in the stream of its workspace. */
  readonly position: number
  /** The event. Its `id` is the same in every attempt, so that a delivery which came twice can be told. */
  readonly data: WorkspaceEvent["event"]
}

/** A test, which somebody has sent to an endpoint by hand. It is no event of a session. */
export interface WebhookTestMessage {
  /** Tells it from every event. */
  readonly type: "webhook.test"
  /** The time at which the test was asked for. */
  readonly timestamp: string
  /** It has no position in the stream of the workspace. */
  readonly position: null
  /** The test. */
  readonly data: {
    /** The same in every attempt. */
    readonly id: string
    /** The same as that of the message. */
    readonly type: "webhook.test"
    /** The workspace of the endpoint. */
    readonly workspace_id: string
    /** The endpoint that it was sent to. */
    readonly webhook_endpoint_id: string
    /** The time at which the test was asked for. */
    readonly recorded_at: string
  }
}

/** A delivery whose signature was found good. `type` tells what it is. */
export type WebhookMessage = WebhookEventMessage | WebhookTestMessage

/** The headers of a request, as Node gives them or as a `Headers`. */
export type WebhookHeaders =
  | {
      /** The value of a header, whatever the case of its name; null when it is absent. */
      readonly get: (name: string) => string | null
    }
  | Readonly<Record<string, string | ReadonlyArray<string> | undefined>>

/** A delivery is not from whom it says, or is too old. Answer it with 400. */
export class WebhookVerificationError extends Error {
  override readonly name = "WebhookVerificationError"
}

/** The settings of a verification. */
export interface VerifyOptions {
  /** The seconds by which the time of a delivery may differ from the clock; 300 when absent. */
  readonly toleranceSeconds?: number
}

/**
 * The event of a delivery, once its signature is proven. Give it the body as it came, because a body that was parsed and written again has
 * another signature. Throws a `WebhookVerificationError` for a signature that is not of the secret, and for a time that differs by over five
 * minutes. Throws a `TypeError` for a call that can never succeed: a parsed body, or a secret that is missing or is none.
 */
const verify = async (
  body: string | Uint8Array | ArrayBuffer,
  headers: WebhookHeaders,
  secret: string,
  { toleranceSeconds = 300 }: VerifyOptions = {}
): Promise<WebhookMessage> => {
  const text = bytesOfBody(body)
  const key = await crypto.subtle.importKey("raw", keyOf(secret), { name: "HMAC", hash: "SHA-256" }, false, ["verify"])
  const { id, timestamp, signatures } = signingHeaders(headers)
  if (!/^\d{1,12}$/.test(timestamp)) throw new WebhookVerificationError("The webhook-timestamp is no time.")
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > toleranceSeconds)
    throw new WebhookVerificationError("The webhook-timestamp is too far from the clock of this machine.")
  const head = new TextEncoder().encode(`${id}.${timestamp}.`)
  const signed = new Uint8Array(head.length + text.length)
  signed.set(head)
  signed.set(text, head.length)
  for (const signature of signatures.split(" ")) {
    const given = signature.startsWith("v1,") ? bytesOf(signature.slice(3)) : undefined
    // The engine compares in constant time.
    if (given !== undefined && (await crypto.subtle.verify("HMAC", key, given, signed)))
      // Boundary: the server that knows the secret wrote the body by its schema.
      return JSON.parse(new TextDecoder().decode(text)) as WebhookMessage
  }
  throw new WebhookVerificationError(
    "No webhook-signature is of this secret and this body. Give the secret of this endpoint, and the body as it came."
  )
}

/** The bytes of a body. An object is told apart, because a framework that has parsed the body is what most often goes wrong. */
const bytesOfBody = (body: string | Uint8Array | ArrayBuffer): Uint8Array => {
  if (typeof body === "string") return new TextEncoder().encode(body)
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength)
  // One of another realm, as a test runner makes it, is no instance of ours.
  if (Object.prototype.toString.call(body) === "[object ArrayBuffer]") return new Uint8Array(body)
  throw new TypeError(
    body === undefined || body === null
      ? "The body of the request is missing. Give it as a string, a Uint8Array or an ArrayBuffer."
      : "The body is no string and no bytes: it was parsed before. Read the raw body of the request, as with express.raw() or request.text()."
  )
}

const signingHeaders = (headers: WebhookHeaders) => {
  if (typeof headers !== "object" || headers === null)
    throw new TypeError("The headers of the request are missing. Give them as Node or fetch has them.")
  const [id, timestamp, signatures] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) =>
    headerOf(headers, name)
  )
  if (id !== undefined && timestamp !== undefined && signatures !== undefined) return { id, timestamp, signatures }
  const missing = Object.entries({ "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures })
    .filter(([, value]) => value === undefined)
    .map(([name]) => name)
  throw new WebhookVerificationError(`The request lacks ${missing.join(", ")}.`)
}

/** The tools of a receiver of webhooks. */
export const webhooks = { verify }

const headerOf = (headers: WebhookHeaders, name: string): string | undefined => {
  if (isHeaders(headers)) return headers.get(name) ?? undefined
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]
  return typeof found === "string" ? found : found?.[0]
}

const isHeaders = (headers: WebhookHeaders): headers is { readonly get: (name: string) => string | null } =>
  typeof headers["get"] === "function"

const keyOf = (secret: string): Uint8Array<ArrayBuffer> => {
  if (typeof secret !== "string" || secret.trim() === "")
    throw new TypeError("The secret of the webhook endpoint is missing. Give the one that begins with whsec_.")
  const key = secret.startsWith("whsec_") ? bytesOf(secret.slice(6)) : undefined
  if (key === undefined || key.length === 0) throw new TypeError("The secret of a webhook endpoint begins with whsec_")
  return key
}

const bytesOf = (base64: string): Uint8Array<ArrayBuffer> | undefined => {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}
