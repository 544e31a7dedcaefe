import { ReinsError } from "@reins/core/domain/ReinsError"
import { HookReceiving } from "@reins/core/hooks/HookReceiving"
import { Clock, Effect } from "effect"
import { announcesBody, refusalOfType } from "./BodyType.js"
import type { Exchange } from "./Exchange.js"
import { readHookBody } from "./HookBodies.js"
import { RateLimit } from "./middleware/RateLimit.js"
import { Reply } from "./Reply.js"
import type { Route } from "./Route.js"
import { TokenBuckets } from "./TokenBuckets.js"

/** The largest body of a call. */
export const maxHookBytes = 5 * 1024 * 1024

/** The calls of one hook within a minute. */
const callsPerMinute = 600

/**
 * The address that the world calls. It is no operation of the API. Its callers are forges and other services, which send neither a key nor an
 * `Idempotency-Key`. A signature over the raw bytes of the body decides.
 */
export const hookRoutes = Effect.gen(function* () {
  const receiving = yield* HookReceiving
  const rateLimit = yield* RateLimit
  const buckets = new TokenBuckets(callsPerMinute)

  const takeOf = (hookId: string) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const seconds = buckets.take(hookId, now)
      return seconds === undefined ? Effect.void : Effect.fail(tooMany(seconds))
    })

  const answer = Effect.fnUntraced(function* (exchange: Exchange, hookId: string) {
    yield* rateLimit.take(exchange)
    yield* takeOf(hookId)
    const refusal = announcesBody(exchange) ? refusalOfType(exchange) : undefined
    if (refusal !== undefined) {
      exchange.headers["connection"] = "close"
      return yield* refusal
    }
    const body = announcesBody(exchange) ? yield* readHookBody(exchange, maxHookBytes) : Buffer.alloc(0)
    return Reply.json(202, yield* receiving.receive(hookId, { header: (name) => exchange.header(name), body }))
  })

  const route: Route = {
    method: "POST",
    path: "/api/hooks/:hook_id",
    mutates: true,
    answer: (exchange, { hook_id = "" }) => answer(exchange, hook_id.replaceAll("\0", ""))
  }
  return [route]
})

const tooMany = (seconds: number) =>
  new ReinsError({
    code: "rate_limited",
    message: `More than ${callsPerMinute} calls of this hook in a minute. Wait ${seconds} s and go on more slowly.`,
    details: { policy: "hook", limit: callsPerMinute, window_seconds: 60 },
    retryAfterSeconds: seconds
  })
