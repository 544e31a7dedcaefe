import type { ReinsError } from "@reins/base/domain/ReinsError"
import type { Vault } from "@reins/base/secrets/Vault"
import { Nodes } from "@reins/core/placement/Nodes"
import type { Bell } from "@reins/core/store/Bell"
import type { Database } from "@reins/core/store/Database"
import { Clock, Context, Effect, Layer } from "effect"
import type { Exchange } from "../Exchange.js"
import { subjectOf, tell } from "./RateAnswers.js"

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
            return tell(exchange, { requestsPerMinute, left, isFree: available >= 1 })
          })
      })
    })

  /** The same limit for all nodes of an installation together. On one machine it is `layer`. */
  static readonly layerOf = (
    requestsPerMinute: number
  ): Layer.Layer<RateLimit, never, Bell | Database | Nodes | Vault> =>
    Layer.unwrapEffect(
      Effect.map(Nodes, ({ self }) =>
        self === null
          ? RateLimit.layer(requestsPerMinute)
          : Layer.scoped(
              RateLimit,
              Effect.flatMap(
                Effect.promise(() => import("./SharedRateLimit.js")),
                (shared) => Effect.map(shared.sharedRateLimit(requestsPerMinute), (take) => RateLimit.of({ take }))
              )
            )
      )
    )

  /** No limit, for a trusted network or a load test. */
  static readonly layerOff = Layer.succeed(RateLimit, RateLimit.of({ take: () => Effect.void }))
}

interface Bucket {
  readonly tokens: number
  readonly at: number
}
