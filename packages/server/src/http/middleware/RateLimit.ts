import { clientNetwork } from "@reins/core/base/ClientNetwork"
import { ReinsError } from "@reins/core/domain/ReinsError"
import { Clock, Context, Effect, Layer } from "effect"
import type { Exchange } from "../Exchange.js"

/** Lets each caller make so many requests a minute. A bucket for each caller fills evenly and never holds more than a minute's worth. */
export class RateLimit extends Context.Tag("@reins/server/http/RateLimit")<
  RateLimit,
  {
    /** Counts the request for its caller, or for its address when the caller is not known. Fails with `rate_limited`. */
    readonly take: (exchange: Exchange) => Effect.Effect<void, ReinsError<"rate_limited">>
  }
>() {
  static readonly layer = (requestsPerMinute: number) =>
    Layer.sync(RateLimit, () => {
      const perMs = requestsPerMinute / 60_000
      const buckets = new Map<string, Bucket>()
      const fill = (bucket: Bucket, now: number) =>
        Math.min(requestsPerMinute, bucket.tokens + Math.max(0, now - bucket.at) * perMs)
      const forgetFull = (now: number) => {
        for (const [subject, bucket] of buckets) if (fill(bucket, now) >= requestsPerMinute) buckets.delete(subject)
      }
      return RateLimit.of({
        take: (exchange) =>
          Effect.flatMap(Clock.currentTimeMillis, (now) => {
            const subject = subjectOf(exchange)
            const bucket = buckets.get(subject)
            const available = bucket === undefined ? requestsPerMinute : fill(bucket, now)
            const left = available >= 1 ? available - 1 : available
            if (bucket === undefined && buckets.size >= 10_000) forgetFull(now)
            buckets.set(subject, { tokens: left, at: now })
            // Seconds until one request is free when none is, else until all are.
            const missing = left >= 1 ? requestsPerMinute - left : 1 - left
            const seconds = Math.ceil(missing / perMs / 1000)
            exchange.headers["ratelimit-policy"] = `"default";q=${requestsPerMinute};w=60`
            exchange.headers["ratelimit"] = `"default";r=${Math.floor(left)};t=${seconds}`
            return available >= 1 ? Effect.void : Effect.fail(rateLimited(requestsPerMinute, seconds))
          })
      })
    })

  /** No limit, for a trusted network or a load test. */
  static readonly layerOff = Layer.succeed(RateLimit, RateLimit.of({ take: () => Effect.void }))
}

interface Bucket {
  readonly tokens: number
  readonly at: number
}

const subjectOf = ({ clientAddress, principal }: Exchange): string =>
  principal === undefined
    ? `address:${clientNetwork(clientAddress)}`
    : principal.via.kind === "api_key"
      ? principal.via.keyId
      : principal.accountId

const rateLimited = (requestsPerMinute: number, seconds: number) =>
  new ReinsError({
    code: "rate_limited",
    message: `More than ${requestsPerMinute} requests in a minute. Wait ${seconds} s and go on more slowly.`,
    details: { policy: "default", limit: requestsPerMinute, window_seconds: 60 },
    retryAfterSeconds: seconds
  })
