import type { HttpApp } from "@effect/platform"
import { Effect } from "effect"
import { Exchange } from "../Exchange.js"

/** What every answer tells a browser: nothing is cached, framed, sniffed or referred to. Over https also to stay there. */
export const securityHeaders = (publicUrl: URL) => {
  const headers: ReadonlyArray<readonly [string, string]> = [
    ["x-content-type-options", "nosniff"],
    ["referrer-policy", "no-referrer"],
    ["cache-control", "no-store"],
    ["content-security-policy", "default-src 'none'; frame-ancestors 'none'"],
    ...(publicUrl.protocol === "https:" ? [["strict-transport-security", "max-age=31536000"] as const] : [])
  ]
  return <E, R>(app: HttpApp.Default<E, R>): HttpApp.Default<E, R | Exchange> =>
    Effect.flatMap(Exchange, (exchange) => {
      for (const [name, value] of headers) exchange.headers.set(name, value)
      return app
    })
}
