import { type Circumstances, limited } from "./Clock.js"
import { ReinsConnectionError } from "./ReinsClientError.js"
import { Failure, refused, retrying, unanswered } from "./RetryPolicy.js"
import { type Route, targetOf } from "./Route.js"

export interface ServerOptions {
  /** The URL of the server, such as `https://reins.example.com`. A path in it is kept. */
  readonly baseUrl: string
  /** Sends the requests; the global `fetch` when absent. */
  readonly fetch?: typeof globalThis.fetch | undefined
  /** The most times that a failed try is repeated; 2 when absent. */
  readonly maxRetries?: number | undefined
  /** The time of one try until its whole answer is read; 90,000 when absent. The server holds a wait for up to 60,000. */
  readonly timeoutMs?: number | undefined
}

/** The settings of one call, in which it differs from the others of its client. */
export interface RequestOptions {
  /** Ends the call: it rejects with the reason of the signal. What the server has begun goes on. */
  readonly signal?: AbortSignal | undefined
  /** Overrides the client's `timeoutMs`. */
  readonly timeoutMs?: number | undefined
}

/** The settings of one call that changes something, in which it differs from the others of its client. */
export interface MutationOptions extends RequestOptions {
  /** The key of the change. Without it each call has a new one, which its retries share. */
  readonly idempotencyKey?: string | undefined
}

/** A response whose body is still to be read. */
export interface OpenResponse {
  readonly body: ReadableStreamDefaultReader<Uint8Array>
  /** Drops the connection. */
  readonly close: () => void
}

/** Sends requests and turns answers into values or typed errors. It does not know the operations. */
export interface Transport {
  readonly baseUrl: string
  readonly maxRetries: number
  /** The JSON value of the answer, or its bytes; undefined when it has no body. */
  readonly call: (route: Route, input: object, call: Call) => Promise<unknown>
  /** One try to open an event stream. Rejects with a `Failure`, or with the reason of the signal. */
  readonly open: (route: Route, input: object, circumstances: Circumstances) => Promise<OpenResponse>
}

export type Call = MutationOptions & Circumstances

/** Throws a TypeError when the options cannot work. */
export const make = (options: ServerOptions & { readonly apiKey?: string | undefined }): Transport => {
  const server: Server = {
    baseUrl: checkedBaseUrl(options.baseUrl),
    apiKey: options.apiKey === undefined ? undefined : checkedApiKey(options.apiKey),
    fetch: options.fetch,
    timeoutMs: options.timeoutMs ?? 90_000
  }
  const maxRetries = options.maxRetries ?? 2
  return {
    baseUrl: server.baseUrl,
    maxRetries,
    call: async (route, input, call) => {
      const request = requestOf(server, route, input)
      if (request.body !== undefined) request.headers.set("content-type", "application/json")
      if (route.method !== "GET") {
        // All tries of a call have the same key.
        request.headers.set("idempotency-key", checkedIdempotencyKey(call.idempotencyKey ?? newKey()))
      }
      return retrying(() => answerOf(server, request, call), maxRetries, call)
    },
    open: (route, input, circumstances) => openStream(server, requestOf(server, route, input), circumstances)
  }
}

/** The server as the requests need it. */
interface Server {
  readonly baseUrl: string
  readonly apiKey: string | undefined
  readonly fetch: typeof globalThis.fetch | undefined
  readonly timeoutMs: number
}

interface Asked {
  /** The request in messages. A query is left out, because it may hold words of the user. */
  readonly name: string
  readonly url: string
  readonly method: string
  readonly headers: Headers
  readonly body: string | undefined
  /** True when a success is answered with bytes. */
  readonly bytes: boolean
}

const requestOf = ({ apiKey, baseUrl }: Server, route: Route, input: object): Asked => {
  const { body, pathAndQuery } = targetOf(route, input)
  const headers = new Headers({ accept: "application/json" })
  if (apiKey !== undefined) headers.set("authorization", `Bearer ${apiKey}`)
  const url = `${baseUrl}${pathAndQuery}`
  return { name: `${route.method} ${url.split("?")[0]}`, url, method: route.method, headers, body, bytes: route.bytes }
}

/** One try of a call. */
const answerOf = (server: Server, request: Asked, call: Call): Promise<unknown> =>
  within(server, request, call, async (connection) => {
    const response = await send(server, request, connection)
    if (response.ok && request.bytes) return new Uint8Array(await response.arrayBuffer())
    const text = await response.text()
    if (!response.ok) throw refusalOf(server, response, text, call)
    // Two forms of one answer: a client asks for Markdown by name.
    if (response.headers.get("content-type")?.startsWith("text/markdown")) return text
    return decode(request, text)
  })

/** One try to open an event stream. */
const openStream = (server: Server, request: Asked, circumstances: Circumstances): Promise<OpenResponse> => {
  request.headers.set("accept", "text/event-stream")
  return within(server, request, circumstances, async (connection) => {
    const response = await send(server, request, connection)
    if (!response.ok) throw refusalOf(server, response, await response.text(), circumstances)
    if (response.body !== null && response.headers.get("content-type")?.startsWith("text/event-stream")) {
      return { body: response.body.getReader(), close: () => connection.abort() }
    }
    throw unreadable(request, "an event stream")
  })
}

/** Gives the connection up when the work fails, takes too long or is not wanted any more. */
const within = async <A>(
  server: Server,
  request: Asked,
  call: Circumstances & { readonly timeoutMs?: number | undefined },
  work: (connection: AbortController) => Promise<A>
): Promise<A> => {
  const { signal } = call
  signal?.throwIfAborted()
  const timeoutMs = call.timeoutMs ?? server.timeoutMs
  const connection = new AbortController()
  const late = () =>
    unanswered(
      new ReinsConnectionError({ reason: "timeout", message: `${request.name} had no answer within ${timeoutMs} ms` })
    )
  try {
    return await limited(work(connection), { ...call, timeoutMs }, late)
  } catch (cause) {
    connection.abort()
    signal?.throwIfAborted()
    if (cause instanceof Failure || isOfFramework(cause)) throw cause
    const message = redact(server, `${request.name} failed: ${reasonOf(cause)}`)
    throw unanswered(new ReinsConnectionError({ reason: "unreachable", message }))
  }
}

const send = ({ fetch }: Server, { body, headers, method, url }: Asked, { signal }: AbortController) =>
  (fetch ?? globalThis.fetch)(url, {
    method,
    headers,
    signal,
    redirect: "manual",
    credentials: "omit",
    ...uncached,
    ...(body !== undefined && { body })
  })

/** Frameworks keep answers of `fetch`, and those of an API change. Older Workers refuse the option, and do not have the field either. */
const uncached: RequestInit = typeof Request === "function" && "cache" in Request.prototype ? { cache: "no-store" } : {}

/**
 * True for what a framework throws out of its `fetch` to steer itself, and has to catch again. Next.js ends a page that it tries to make ahead of its
 * requests so. React knows its own by a `digest`, by a type, or because they can be waited for.
 */
const isOfFramework = (cause: unknown): boolean =>
  typeof cause === "object" &&
  cause !== null &&
  (("digest" in cause && typeof cause.digest === "string") ||
    ("code" in cause && cause.code === "NEXT_STATIC_GEN_BAILOUT") ||
    "$$typeof" in cause ||
    ("then" in cause && typeof cause.then === "function"))

/** Browsers give a page that came over plain HTTP from another machine no `randomUUID`. */
const newKey = (): string =>
  "10000000-1000-4000-8000-100000000000".replace(/[018]/g, (digit) => {
    const [random = 0] = crypto.getRandomValues(new Uint8Array(1))
    return (Number(digit) ^ (random & (15 >> (Number(digit) / 4)))).toString(16)
  })

const redact = ({ apiKey }: Server, text: string): string =>
  apiKey === undefined ? text : text.replaceAll(apiKey, "[redacted]")

const refusalOf = (server: Server, response: Response, text: string, { clock }: Circumstances): Failure =>
  refused(response.status, response.headers, redact(server, text), clock.now())

const decode = (request: Asked, text: string): unknown => {
  try {
    return text === "" ? undefined : JSON.parse(text)
  } catch {
    throw unreadable(request, "JSON")
  }
}

const unreadable = (request: Asked, expected: string): Failure =>
  unanswered(
    new ReinsConnectionError({
      reason: "unreadable",
      message: `${request.name} answered with something else than ${expected}. A proxy may have answered, or baseUrl is not a Reins server.`
    })
  )

/** The message of the innermost cause, because `fetch` itself only says that it failed. */
const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return "the connection broke"
  return error.cause instanceof Error ? reasonOf(error.cause) : error.message || errorCode(error)
}

const errorCode = (error: Error): string => ("code" in error ? String(error.code) : error.name)

// These messages never repeat the value: each may hold a secret.
const checkedBaseUrl = (text: string): string => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new TypeError("baseUrl must be an http or https URL, such as https://reins.example.com")
  }
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    throw new TypeError("baseUrl must not hold credentials, a query or a fragment; give the key as apiKey")
  }
  return `${url.origin}${url.pathname.replace(/(?<!\/)\/+$/, "")}`
}

const checkedApiKey = (text: string): string => {
  const apiKey = text.trim()
  if (!/^[\x21-\x7e]+$/.test(apiKey)) throw new TypeError("apiKey is empty or holds characters that no API key has")
  return apiKey
}

const checkedIdempotencyKey = (key: string): string => {
  if (!/^[\x20-\x7e]{1,255}$/.test(key))
    throw new TypeError("idempotencyKey must be 1 to 255 printable ASCII characters")
  return key
}
