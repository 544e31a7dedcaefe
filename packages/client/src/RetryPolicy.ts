import { type Circumstances, type Clock, sleep } from "./Clock.js"
import { fromRefusal, type ReinsClientError, type ReinsConnectionError } from "./ReinsClientError.js"

/** A failed try, which is thrown, and the advice for the next one. */
export class Failure {
  constructor(
    readonly error: ReinsClientError,
    /** True when the same request may be sent again. */
    readonly repeat: boolean,
    /** Milliseconds that the server asks to wait before the next try. */
    readonly afterMs?: number
  ) {}
}

/** With a longer `Retry-After` the call fails at once, and its error tells the time to wait. */
const longestWaitMs = 60_000
const firstDelayMs = 500
const longestDelayMs = 8_000

/** Half a second doubling to eight, up to a quarter less so that clients spread out. `failures` counts from 0. */
const backoffMs = (failures: number, clock: Clock): number =>
  Math.min(firstDelayMs * 2 ** failures, longestDelayMs) * (1 - clock.random() / 4)

/** The wait that the server asked for, else the back-off; from the fourth failure in a row on the back-off at least. */
export const delayMs = (failures: number, afterMs: number | undefined, clock: Clock): number => {
  const millis = backoffMs(failures, clock)
  return afterMs === undefined ? millis : failures < 3 ? afterMs : Math.max(afterMs, millis)
}

/** Repeats the attempt at most `maxRetries` times, as long as its failure says that this may help. Rejects with the error of the last one. */
export const retrying = async <A>(
  attempt: () => Promise<A>,
  maxRetries: number,
  circumstances: Circumstances
): Promise<A> => {
  for (let failures = 0; ; failures++) {
    try {
      return await attempt()
    } catch (failure) {
      if (!(failure instanceof Failure)) throw failure
      if (!mayRepeat(failure, failures, maxRetries)) throw failure.error
      await sleep(delayMs(failures, failure.afterMs, circumstances.clock), circumstances)
    }
  }
}

export const mayRepeat = (failure: Failure, failures: number, maxRetries: number): boolean =>
  failure.repeat && failures < maxRetries && (failure.afterMs ?? 0) <= longestWaitMs

/** No answer came, so the same request may be sent again. */
export const unanswered = (error: ReinsConnectionError): Failure => new Failure(error, true)

/** The failure of an answer that is not a success. */
export const refused = (status: number, headers: Headers, text: string, now: number): Failure => {
  const afterMs = retryAfterMs(headers.get("retry-after"), now)
  const retryAfterSeconds = afterMs === undefined ? undefined : Math.ceil(afterMs / 1000)
  const error = fromRefusal({ status, headers, text, retryAfterSeconds })
  return new Failure(error, shouldRepeat(headers, error), afterMs)
}

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
