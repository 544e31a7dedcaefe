import { setTimeout as pause } from "node:timers/promises"

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
