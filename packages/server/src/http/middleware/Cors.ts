import { Effect } from "effect"
import type { Exchange } from "../Exchange.js"
import { Reply } from "../Reply.js"

/**
 * Lets pages of the listed origins call the API with a key. No answer allows credentials, so a browser neither shows them an answer that it got with
 * a cookie of this service nor keeps one that it sets; logins stay with the pages of the service itself.
 */
export interface Cors {
  /** Gives an exchange its headers. Gives back the answer to a preflight of a listed origin; any other request goes on. */
  readonly admit: (exchange: Exchange) => Effect.Effect<Reply> | undefined
}

/** Undefined for an empty list, so that a request costs nothing. An origin is as a browser sends it: `https://app.example.com`. */
export const corsOf = (origins: ReadonlyArray<string>): Cors | undefined => {
  if (origins.length === 0) return undefined
  const listed = new Set(origins)
  return {
    admit: ({ headers, method, path, request }) => {
      if (!path.startsWith("/api/") && path !== "/openapi.json") return undefined
      // An answer depends on the origin also where there is none, for a cache between.
      headers["vary"] = "Origin"
      const { origin } = request.headers
      if (origin === undefined || !listed.has(origin)) return undefined
      headers["access-control-allow-origin"] = origin
      headers["access-control-expose-headers"] = "*"
      const isPreflight = method === "OPTIONS" && request.headers["access-control-request-method"] !== undefined
      return isPreflight ? preflight : undefined
    }
  }
}

const preflight = Effect.succeed(
  new Reply(204, null, {
    "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
    "access-control-allow-headers":
      "Authorization, Content-Type, Accept, Idempotency-Key, If-Match, Last-Event-ID, X-Request-Id, Traceparent, Tracestate",
    "access-control-max-age": "7200"
  })
)
