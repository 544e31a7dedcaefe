import { setTimeout as pause } from "node:timers/promises"
import { Effect } from "effect"

type Nothing = undefined | false

/** Asks until the answer is neither undefined nor false. Fails with a message after a time that only a broken server takes. */
export const eventually = async <A>(
  what: string,
  ask: () => Promise<A | Nothing> | A | Nothing,
  limitMs = 300_000
): Promise<A> => {
  for (const until = performance.now() + limitMs; performance.now() < until; await pause(40)) {
    const answer = await ask()
    if (answer !== undefined && answer !== false) return answer
  }
  throw new Error(`It did not come to be: ${what}`)
}

const passing = (ms: number) =>
  Effect.async<void>((resume) => {
    const timer = setTimeout(() => resume(Effect.void), ms)
    return Effect.sync(() => clearTimeout(timer))
  })

/**
 * A millisecond of the machine, whatever clock the test has. What looks again and again lets everything else go on with it: `Effect.yieldNow`
 * yields to fibers alone, and keeps the process from hearing of files and connections.
 */
export const aMoment: Effect.Effect<void> = passing(1)

/** The same for what is dear to look at, as the processes of the machine are. */
export const aWhile: Effect.Effect<void> = passing(20)
