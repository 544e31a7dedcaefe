import { ReinsError } from "@reins/base/domain/ReinsError"
import type { UnreadReason } from "@reins/core/hooks/Hook"
import { HookReceiving } from "@reins/core/hooks/HookReceiving"
import { Cause, Clock, Effect, Exit } from "effect"
import { announcesBody, refusalOfType } from "./BodyType.js"
import type { Exchange } from "./Exchange.js"
import { type BodyRefused, withHookBody } from "./HookBodies.js"
import { RateLimit } from "./middleware/RateLimit.js"
import { Reply } from "./Reply.js"
import type { Route } from "./Route.js"
import { TokenBuckets } from "./TokenBuckets.js"

/** The largest body of a call. */
export const maxHookBytes = 5 * 1024 * 1024

/** The calls of one hook within a minute. */
const callsPerMinute = 600

/** The receipts of bodies that were not read, of one hook within a minute. */
const unreadPerMinute = 120

/** The time that a call waits before it is refused. Forges do not call again, and GitHub waits 10 seconds for an answer. */
const patienceMs = 6_000

/**
 * The address that the world calls. It is no operation of the API. Its callers are forges and other services, which send neither a key nor an
 * `Idempotency-Key`. A signature over the raw bytes of the body decides.
 */
export const hookRoutes = Effect.gen(function* () {
  const receiving = yield* HookReceiving
  const admit = yield* makeAdmit
  const unread = new TokenBuckets(unreadPerMinute)

  const leaveUnread = Effect.fnUntraced(function* (exchange: Exchange, hookId: string, reason: UnreadReason) {
    if (!unread.reserve(hookId, yield* Clock.currentTimeMillis, 0).isTaken) return
    const size = Number(exchange.header("content-length") ?? 0)
    yield* receiving.leaveUnread(hookId, { header: (name) => exchange.header(name), size }, reason)
  })

  const take = Effect.fnUntraced(function* (exchange: Exchange, hookId: string) {
    const waitedMs = yield* admit(exchange, hookId)
    const refusal = announcesBody(exchange) ? refusalOfType(exchange) : undefined
    const incoming = {
      exchange,
      limit: maxHookBytes,
      patienceMs: patienceMs - waitedMs,
      isKnown: receiving.isKnown(hookId)
    }
    return yield* withHookBody(incoming, (body) =>
      receiving.receive(hookId, { header: (name) => exchange.header(name), body, isJson: refusal === undefined })
    )
  })

  const answer = Effect.fnUntraced(function* (exchange: Exchange, hookId: string) {
    const exit = yield* Effect.exit(take(exchange, hookId))
    const reason = Exit.isFailure(exit) ? unreadReasonOf(exit.cause) : undefined
    if (reason !== undefined) yield* leaveUnread(exchange, hookId, reason)
    return Reply.json(202, yield* exit)
  })

  const route: Route = {
    method: "POST",
    path: "/api/hooks/:hook_id",
    mutates: true,
    answer: (exchange, { hook_id = "" }) => answer(exchange, hook_id.replaceAll("\0", ""))
  }
  return [route]
})

type Refused = BodyRefused | ReinsError<"not_found" | "rate_limited" | "unsupported_media_type">

/** The reason for which a body was not read; undefined for a body that was, and for a call that no secret proves. */
const unreadReasonOf = (cause: Cause.Cause<Refused>): UnreadReason | undefined => {
  if (Cause.isInterruptedOnly(cause)) return "cut_off"
  const reasons = {
    payload_too_large: "too_large",
    rate_limited: "too_many",
    request_timeout: "too_slow",
    waiting_capacity: "no_place",
    // It was read, and its receipt is written.
    unsupported_media_type: undefined,
    not_found: undefined
  } as const
  const failure = Cause.failureOption(cause)
  return failure._tag === "None" ? undefined : reasons[failure.value.code]
}

/** Gives the function that admits a call, when need be after a wait. It gives the milliseconds of the wait. */
const makeAdmit = Effect.gen(function* () {
  const receiving = yield* HookReceiving
  const rateLimit = yield* RateLimit
  const buckets = new TokenBuckets(callsPerMinute)

  return Effect.fnUntraced(function* (exchange: Exchange, hookId: string) {
    // The calls of a hook that is there have a limit of their own, so that others behind one address do not use it up.
    yield* Effect.catchAll(rateLimit.take(exchange), (refusal) =>
      Effect.flatMap(receiving.isKnown(hookId), (known) => (known ? Effect.void : Effect.fail(refusal)))
    )
    const { isTaken, waitMs } = buckets.reserve(hookId, yield* Clock.currentTimeMillis, patienceMs)
    if (!isTaken) {
      exchange.headers["connection"] = "close"
      return yield* tooMany(Math.ceil(waitMs / 1000))
    }
    if (waitMs > 0) yield* Effect.sleep(waitMs)
    return waitMs
  })
})

const tooMany = (seconds: number) =>
  new ReinsError({
    code: "rate_limited",
    message: `More than ${callsPerMinute} calls of this hook in a minute. Wait ${seconds} s and go on more slowly.`,
    details: { policy: "hook", limit: callsPerMinute, window_seconds: 60 },
    retryAfterSeconds: seconds
  })
