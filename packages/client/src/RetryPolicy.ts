import { Clock, Effect, Random } from "effect"
import { fromRefusal, type ReinsClientError, type ReinsConnectionError } from "./ReinsClientError.js"

/** A failed try, and the advice for the next one. */
export interface Failure {
  readonly error: ReinsClientError
  /** True when the same request may be sent again. */
  readonly repeat: boolean
  /** Milliseconds that the server asks to wait before the next try. */
  readonly afterMs: number | undefined
}

/** With a longer `Retry-After` the call fails at once, and its error tells the time to wait. */
const longestWaitMs = 60_000
const firstDelayMs = 500
const longestDelayMs = 8_000

/** Half a second doubling to eight, up to a quarter less so that clients spread out. `failures` counts from 0. */
export const backoffMs = (failures: number): Effect.Effect<number> =>
  Effect.map(Random.next, (random) => Math.min(firstDelayMs * 2 ** failures, longestDelayMs) * (1 - random / 4))

/** Waits as the server asked, else for the back-off; from the fourth failure in a row on for the back-off at least. */
export const pause = (failures: number, afterMs: number | undefined): Effect.Effect<void> =>
  Effect.flatMap(backoffMs(failures), (millis) =>
    Effect.sleep(afterMs === undefined ? millis : failures < 3 ? afterMs : Math.max(afterMs, millis))
  )

/** Repeats the attempt at most `maxRetries` times, as long as its failure says that this may help. */
export const retrying = <A>(
  attempt: Effect.Effect<A, Failure>,
  maxRetries: number
): Effect.Effect<A, ReinsClientError> => {
  const from = (failures: number): Effect.Effect<A, ReinsClientError> =>
    Effect.catchAll(attempt, (failure) =>
      mayRepeat(failure, failures, maxRetries)
        ? Effect.zipRight(pause(failures, failure.afterMs), from(failures + 1))
        : Effect.fail(failure.error)
    )
  return from(0)
}

export const mayRepeat = (failure: Failure, failures: number, maxRetries: number): boolean =>
  failure.repeat && failures < maxRetries && (failure.afterMs ?? 0) <= longestWaitMs

/** No answer came, so the same request may be sent again. */
export const unanswered = (error: ReinsConnectionError): Failure => ({ error, repeat: true, afterMs: undefined })

/** The failure of an answer that is not a success. */
export const refused = (status: number, headers: Headers, text: string): Effect.Effect<Failure> =>
  Effect.map(Clock.currentTimeMillis, (now) => {
    const afterMs = retryAfterMs(headers.get("retry-after"), now)
    const retryAfterSeconds = afterMs === undefined ? undefined : Math.ceil(afterMs / 1000)
    const error = fromRefusal({ status, headers, text, retryAfterSeconds })
    return { error, repeat: shouldRepeat(headers, error), afterMs }
  })

const shouldRepeat = (headers: Headers, error: ReinsClientError): boolean => {
  // The server stored this answer under the idempotency key: the same key only brings it back.
  if (headers.get("idempotency-replayed") === "true") return false
  const wish = headers.get("x-should-retry")
  if (wish === "true" || wish === "false") return wish === "true"
  return error._tag === "ReinsApiError" ? error.retryable : false
}

/** `Retry-After` is a number of seconds or an HTTP date. */
const retryAfterMs = (value: string | null, now: number): number | undefined => {
  if (value === null) return undefined
  const millis = /^\s*\d+(\.\d+)?\s*$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now
  return Number.isNaN(millis) ? undefined : Math.max(0, millis)
}
