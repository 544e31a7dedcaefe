import { Effect, Redacted } from "effect"
import { type Route, targetOf } from "./Contract.js"
import { type ReinsClientError, ReinsConnectionError } from "./ReinsClientError.js"
import { type Failure, refused, retrying, unanswered } from "./RetryPolicy.js"

/** The server of a client, and how its requests are sent. */
export interface ClientOptions {
  /** The URL of the server, such as `https://reins.example.com`. A path in it is kept. */
  readonly baseUrl: string
  /** An API key. Without one only the public calls work, such as register and login. */
  readonly apiKey?: Redacted.Redacted | undefined
  /** Sends the requests; the global `fetch` when absent. */
  readonly fetch?: typeof globalThis.fetch | undefined
  /** The most times that a failed try is repeated; 2 when absent. */
  readonly maxRetries?: number | undefined
  /** The time of one try until its whole answer is read; 90,000 when absent. The server holds a wait for up to 60,000. */
  readonly timeoutMs?: number | undefined
}

/** The settings of one call. */
export interface CallOptions {
  /** The key of a mutation. Without it each call has a new one, which its retries share. */
  readonly idempotencyKey?: string | undefined
  /** Overrides the client's `timeoutMs`. */
  readonly timeoutMs?: number | undefined
}

/** A response whose body is still to be read. */
export interface OpenResponse {
  readonly body: ReadableStreamDefaultReader<Uint8Array>
  /** Drops the connection. */
  readonly close: Effect.Effect<void>
}

/** Sends requests and turns answers into values or typed errors. It does not know the endpoints. */
export interface Transport {
  readonly baseUrl: string
  readonly maxRetries: number
  /** The JSON value of the answer; undefined when it has no body. */
  readonly call: (route: Route, input: object, options?: CallOptions) => Effect.Effect<unknown, ReinsClientError>
  /** One try to open an event stream. */
  readonly open: (route: Route, input: object) => Effect.Effect<OpenResponse, Failure>
}

/** Throws a TypeError when the options cannot work. */
export const make = (options: ClientOptions): Transport => {
  const apiKey = options.apiKey === undefined ? undefined : checkedApiKey(Redacted.value(options.apiKey))
  const server: Server = {
    baseUrl: checkedBaseUrl(options.baseUrl),
    apiKey,
    fetch: options.fetch,
    timeoutMs: options.timeoutMs ?? 90_000
  }
  const maxRetries = options.maxRetries ?? 2
  return {
    baseUrl: server.baseUrl,
    maxRetries,
    call: (route, input, callOptions = {}) =>
      Effect.suspend(() => retrying(attemptOf(server, route, input, callOptions), maxRetries)).pipe(
        Effect.withSpan(`Reins.${route.group}.${route.name}`, { kind: "client", captureStackTrace: false })
      ),
    open: (route, input) => openStream(server, route, input)
  }
}

/** The server as the requests need it. */
interface Server {
  readonly baseUrl: string
  readonly apiKey: string | undefined
  readonly fetch: typeof globalThis.fetch | undefined
  readonly timeoutMs: number
}

/** One try of a call. All tries of a call have the same idempotency key. */
const attemptOf = (
  server: Server,
  route: Route,
  input: object,
  { idempotencyKey, timeoutMs }: CallOptions
): Effect.Effect<unknown, Failure> => {
  const { body, pathAndQuery } = targetOf(route, input)
  const request = nameOf(server, route, pathAndQuery)
  const headers = headersOf(server, "application/json")
  if (body !== undefined) headers.set("content-type", "application/json")
  if (route.method !== "GET")
    headers.set("idempotency-key", checkedIdempotencyKey(idempotencyKey ?? crypto.randomUUID()))
  return Effect.tryPromise({
    try: async (signal) => {
      const init = { method: route.method, headers, signal, ...(body !== undefined && { body }) }
      const response = await send(server, pathAndQuery, init)
      return { response, text: await response.text() }
    },
    catch: unreachable(server, request)
  }).pipe(
    within(request, timeoutMs ?? server.timeoutMs),
    Effect.flatMap(({ response, text }) =>
      response.ok ? Effect.mapError(decode(request, text), unanswered) : refuse(server, response, text)
    )
  )
}

/** One try to open an event stream. */
const openStream = (server: Server, route: Route, input: object): Effect.Effect<OpenResponse, Failure> =>
  Effect.suspend(() => {
    const { pathAndQuery } = targetOf(route, input)
    const request = nameOf(server, route, pathAndQuery)
    const connection = new AbortController()
    const close = Effect.sync(() => connection.abort())
    const init = { headers: headersOf(server, "text/event-stream"), signal: connection.signal }
    return Effect.tryPromise({
      try: () => send(server, pathAndQuery, init),
      catch: unreachable(server, request)
    }).pipe(
      Effect.flatMap((response): Effect.Effect<OpenResponse, Failure> => {
        if (!response.ok) {
          const text = Effect.tryPromise({ try: () => response.text(), catch: unreachable(server, request) })
          return Effect.flatMap(text, (read) => refuse(server, response, read))
        }
        return response.body !== null && response.headers.get("content-type")?.startsWith("text/event-stream")
          ? Effect.succeed({ body: response.body.getReader(), close })
          : Effect.fail(unanswered(unreadable(request, "an event stream")))
      }),
      within(request, server.timeoutMs),
      Effect.onError(() => close)
    )
  })

/** A request as messages name it. A query is left out, because it may hold words of the user. */
const nameOf = ({ baseUrl }: Server, route: Route, pathAndQuery: string): string =>
  `${route.method} ${baseUrl}${pathAndQuery.split("?")[0]}`

const headersOf = ({ apiKey }: Server, accept: string): Headers => {
  const headers = new Headers({ accept })
  if (apiKey !== undefined) headers.set("authorization", `Bearer ${apiKey}`)
  return headers
}

const send = ({ baseUrl, fetch }: Server, pathAndQuery: string, init: RequestInit): Promise<Response> =>
  (fetch ?? globalThis.fetch)(`${baseUrl}${pathAndQuery}`, { ...init, redirect: "manual", credentials: "omit" })

const redact = ({ apiKey }: Server, text: string): string =>
  apiKey === undefined ? text : text.replaceAll(apiKey, "[redacted]")

const unreachable = (server: Server, request: string) => (cause: unknown) =>
  unanswered(
    new ReinsConnectionError({
      reason: "unreachable",
      message: redact(server, `${request} failed: ${reasonOf(cause)}`)
    })
  )

const within =
  (request: string, timeoutMs: number) =>
  <A>(attempt: Effect.Effect<A, Failure>) =>
    Effect.timeoutFail(attempt, {
      duration: timeoutMs,
      onTimeout: () =>
        unanswered(
          new ReinsConnectionError({ reason: "timeout", message: `${request} had no answer within ${timeoutMs} ms` })
        )
    })

const refuse = (server: Server, response: Response, text: string): Effect.Effect<never, Failure> =>
  Effect.flatMap(refused(response.status, response.headers, redact(server, text)), Effect.fail)

const decode = (request: string, text: string): Effect.Effect<unknown, ReinsConnectionError> =>
  text === ""
    ? Effect.succeed(undefined)
    : Effect.try({ try: () => JSON.parse(text), catch: () => unreadable(request, "JSON") })

const unreadable = (request: string, expected: string) =>
  new ReinsConnectionError({
    reason: "unreadable",
    message: `${request} answered with something else than ${expected}. A proxy may have answered, or baseUrl is not a Reins server.`
  })

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
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}`
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
