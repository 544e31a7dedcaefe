import type { IncomingHttpHeaders } from "node:http"
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

/** Undefined for an empty list, so that a request costs nothing. An origin is as a browser sends it: `https://app.example.com`, `tauri://localhost`. */
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
      return isPreflight ? preflight(request.headers) : undefined
    }
  }
}

/**
 * Grants a listed page the headers that it asks for. Libraries, tracers and browsers add headers of their own, and no list of ours would know them all.
 * None of them gives a page more than its key does, because no answer allows credentials.
 */
const preflight = (asked: IncomingHttpHeaders): Effect.Effect<Reply> => {
  const wanted = asked["access-control-request-headers"]
  const names =
    wanted !== undefined && wanted.length <= 4096 && listOfNames.test(wanted) ? `${usual}, ${wanted}` : usual
  return Effect.succeed(
    new Reply(204, null, {
      "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
      "access-control-allow-headers": names,
      "access-control-max-age": "7200",
      // A page of a public address asks for it before it calls a server of a private network.
      ...(asked["access-control-request-private-network"] === "true" && {
        "access-control-allow-private-network": "true"
      }),
      vary: "Origin, Access-Control-Request-Headers"
    })
  )
}

const usual =
  "Authorization, Content-Type, Accept, Idempotency-Key, If-Match, Last-Event-ID, X-Request-Id, Traceparent, Tracestate"

/** Names of headers with commas between them. */
const listOfNames = /^\s*[\w!#$%&'*+.^`|~-]+(?:\s*,\s*[\w!#$%&'*+.^`|~-]+)*\s*$/
