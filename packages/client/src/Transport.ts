import { Effect, Redacted } from "effect"
import { type Route, targetOf } from "./Contract.js"
import { type ReinsClientError, ReinsConnectionError } from "./ReinsClientError.js"
import { type Failure, refused, retrying, unanswered } from "./RetryPolicy.js"

export interface ClientOptions {
  /** Where the server is, such as `https://reins.example.com`; a path in it is kept. */
  readonly baseUrl: string
  /** An API key. Without one only the public calls work, such as register and login. */
  readonly apiKey?: Redacted.Redacted | undefined
  /** Sends the requests; the global `fetch` when absent. */
  readonly fetch?: typeof globalThis.fetch | undefined
  /** How often a failed try is repeated; 2 when absent. */
  readonly maxRetries?: number | undefined
  /** How long one try may take, until its whole answer is read; 90,000 when absent. A wait is held for up to 60,000. */
  readonly timeoutMs?: number | undefined
}

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

/** Sends requests and turns answers into values or typed errors. Does not know the endpoints. */
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
  const baseUrl = checkedBaseUrl(options.baseUrl)
  const apiKey = options.apiKey === undefined ? undefined : checkedApiKey(Redacted.value(options.apiKey))
  const maxRetries = options.maxRetries ?? 2
  const defaultTimeoutMs = options.timeoutMs ?? 90_000
  const redact = (text: string): string => (apiKey === undefined ? text : text.replaceAll(apiKey, "[redacted]"))

  const headersOf = (accept: string): Headers => {
    const headers = new Headers({ accept })
    if (apiKey !== undefined) headers.set("authorization", `Bearer ${apiKey}`)
    return headers
  }

  const send = (pathAndQuery: string, init: RequestInit): Promise<Response> =>
    (options.fetch ?? globalThis.fetch)(`${baseUrl}${pathAndQuery}`, {
      ...init,
      redirect: "manual",
      credentials: "omit"
    })

  const unreachable = (request: string) => (cause: unknown) =>
    unanswered(
      new ReinsConnectionError({ reason: "unreachable", message: redact(`${request} failed: ${reasonOf(cause)}`) })
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

  const refuse = (response: Response, text: string): Effect.Effect<never, Failure> =>
    Effect.flatMap(refused(response.status, response.headers, redact(text)), Effect.fail)

  const call: Transport["call"] = (route, input, callOptions = {}) =>
    Effect.suspend(() => {
      const { body, pathAndQuery } = targetOf(route, input)
      const request = `${route.method} ${baseUrl}${pathAndQuery.split("?")[0]}`
      const headers = headersOf("application/json")
      if (body !== undefined) headers.set("content-type", "application/json")
      if (route.method !== "GET") {
        headers.set("idempotency-key", checkedIdempotencyKey(callOptions.idempotencyKey ?? crypto.randomUUID()))
      }
      const attempt = Effect.tryPromise({
        try: async (signal) => {
          const response = await send(pathAndQuery, {
            method: route.method,
            headers,
            signal,
            ...(body !== undefined && { body })
          })
          return { response, text: await response.text() }
        },
        catch: unreachable(request)
      }).pipe(
        within(request, callOptions.timeoutMs ?? defaultTimeoutMs),
        Effect.flatMap(({ response, text }) =>
          response.ok ? Effect.mapError(decode(request, text), unanswered) : refuse(response, text)
        )
      )
      return retrying(attempt, maxRetries)
    }).pipe(Effect.withSpan(`Reins.${route.group}.${route.name}`, { kind: "client", captureStackTrace: false }))

  const open: Transport["open"] = (route, input) =>
    Effect.suspend(() => {
      const { pathAndQuery } = targetOf(route, input)
      const request = `${route.method} ${baseUrl}${pathAndQuery.split("?")[0]}`
      const connection = new AbortController()
      const close = Effect.sync(() => connection.abort())
      return Effect.tryPromise({
        try: () => send(pathAndQuery, { headers: headersOf("text/event-stream"), signal: connection.signal }),
        catch: unreachable(request)
      }).pipe(
        Effect.flatMap((response) => {
          if (!response.ok) {
            return Effect.flatMap(
              Effect.tryPromise({ try: () => response.text(), catch: unreachable(request) }),
              (text) => refuse(response, text)
            )
          }
          return response.body !== null && response.headers.get("content-type")?.startsWith("text/event-stream")
            ? Effect.succeed({ body: response.body.getReader(), close })
            : Effect.fail(unanswered(unreadable(request, "an event stream")))
        }),
        within(request, defaultTimeoutMs),
        Effect.onError(() => close)
      )
    })

  return { baseUrl, maxRetries, call, open }
}

const decode = (request: string, text: string): Effect.Effect<unknown, ReinsConnectionError> =>
  text === ""
    ? Effect.succeed(undefined)
    : Effect.try({ try: () => JSON.parse(text), catch: () => unreadable(request, "JSON") })

const unreadable = (request: string, expected: string) =>
  new ReinsConnectionError({
    reason: "unreadable",
    message: `${request} answered with something else than ${expected}. A proxy may have answered, or baseUrl is not a Reins server.`
  })

/** The innermost cause says what happened: `fetch` itself only says that it failed. */
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
