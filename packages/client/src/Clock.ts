import { whenAborted } from "./Abort.js"

/** Time and chance, as a program has them. */
export interface Clock {
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Resolves after the time, or as soon as the signal is aborted. */
  readonly sleep: (milliseconds: number, signal?: AbortSignal) => Promise<void>
  /** From 0 to 1. */
  readonly random: () => number
}

export const systemClock: Clock = {
  now: Date.now,
  sleep: (milliseconds, signal) =>
    new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer)
        stay()
        resolve()
      }
      const timer = setTimeout(end, milliseconds)
      const stay = whenAborted(signal, end)
      if (signal?.aborted) end()
    }),
  random: Math.random
}

/** The circumstances of a call: its clock, and the signal that ends it. */
export interface Circumstances {
  readonly clock: Clock
  readonly signal?: AbortSignal | undefined
}

/** Waits for the time. Rejects with the reason of the signal when that comes first. */
export const sleep = async (milliseconds: number, { clock, signal }: Circumstances): Promise<void> => {
  signal?.throwIfAborted()
  await clock.sleep(milliseconds, signal)
  signal?.throwIfAborted()
}

/**
 * The result of the work, unless the signal or the time comes first: then it rejects with the reason of the signal, or with what `late` gives.
 * The work itself goes on.
 */
export const limited = <A>(
  work: Promise<A>,
  { clock, signal, timeoutMs }: Circumstances & { readonly timeoutMs: number },
  late: () => unknown
): Promise<A> => {
  const timer = new AbortController()
  let stay = () => {}
  return new Promise<A>((resolve, reject) => {
    const abort = () => reject(signal?.reason)
    if (signal?.aborted) abort()
    stay = whenAborted(signal, abort)
    clock.sleep(timeoutMs, timer.signal).then(() => reject(late()))
    work.then(resolve, reject)
  }).finally(() => {
    timer.abort()
    stay()
  })
}
