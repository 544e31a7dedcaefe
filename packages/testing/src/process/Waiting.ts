import { setTimeout as pause } from "node:timers/promises"
import { Effect } from "effect"

type Nothing = undefined | false

/** Asks until the answer is neither undefined nor false. Fails with a message after a time that only a broken server takes. */
export const eventually = async <A>(
  what: string,
  ask: () => Promise<A | Nothing> | A | Nothing,
  limitMs = 300_000
): Promise<A> => {
  for (const until = performance.now() + limitMs; performance.now() < until; await pause(20)) {
    const answer = await ask()
    if (answer !== undefined && answer !== false) return answer
  }
  throw new Error(`It did not come to be: ${what}`)
}

/**
 * A millisecond of the machine, whatever clock the test has. What looks again and again lets everything else go on with it: `Effect.yieldNow`
 * yields to fibers alone, and keeps the process from hearing of files and connections.
 */
export const aMoment: Effect.Effect<void> = Effect.async<void>((resume) => {
  const timer = setTimeout(() => resume(Effect.void), 1)
  return Effect.sync(() => clearTimeout(timer))
})
