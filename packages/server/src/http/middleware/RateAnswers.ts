import { clientNetwork } from "@reins/base/base/ClientNetwork"
import { keyOf } from "@reins/base/domain/Principal"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { Effect } from "effect"
import type { Exchange } from "../Exchange.js"

/** The caller as requests are counted. */
export const subjectOf = ({ clientAddress, principal }: Exchange): string =>
  principal === undefined ? `address:${clientNetwork(clientAddress)}` : (keyOf(principal) ?? principal.accountId)

/** Tells a caller of the requests that it has left, and lets it go on if there was one for it. */
export const tell = (
  exchange: Exchange,
  { isFree, left, requestsPerMinute }: { requestsPerMinute: number; left: number; isFree: boolean }
): Effect.Effect<void, ReinsError<"rate_limited">> => {
  // Seconds until one request is free when none is, else until all are.
  const missing = left >= 1 ? requestsPerMinute - left : 1 - left
  const seconds = Math.ceil((missing * 60) / requestsPerMinute)
  exchange.headers["ratelimit-policy"] = `"default";q=${requestsPerMinute};w=60`
  exchange.headers["ratelimit"] = `"default";r=${Math.max(0, Math.floor(left))};t=${seconds}`
  return isFree ? Effect.void : Effect.fail(rateLimited(requestsPerMinute, seconds))
}

const rateLimited = (requestsPerMinute: number, seconds: number) =>
  new ReinsError({
    code: "rate_limited",
    message: `More than ${requestsPerMinute} requests in a minute. Wait ${seconds} s and go on more slowly.`,
    details: { policy: "default", limit: requestsPerMinute, window_seconds: 60 },
    retryAfterSeconds: seconds
  })
