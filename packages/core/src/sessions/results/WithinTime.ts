import { runInNewContext } from "node:vm"
import { processorMicros } from "@reins/base/base/ProcessorTime"

// Runs what a stranger has written for a bounded time. Nothing else runs meanwhile.

/** The time limit of one try, in milliseconds. */
const maxMillis = 250

/** A machine that gives this program too little of a processor in so many tries is too busy for any check. */
const maxTries = 4

/** So many tries that use up their time of the processor are enough. The collector of V8 may have had that of one. */
const slowTries = 2

/**
 * Runs a function and throws when it has used up its time. The clock alone does not count, because other programs may have had the processor. A try
 * begins anew, so each may take twice as long as the one before.
 */
export const withinTime = <A>(run: () => A): A => {
  let slow = 0
  for (let tries = 1, millis = maxMillis; ; tries++) {
    const begun = processorMicros()
    try {
      return runLimited(run, millis)
    } catch (error) {
      if (!isTimeout(error)) throw error
      if (processorMicros() - begun > millis * 800) slow++
      else millis *= 2
      if (tries === maxTries || slow === slowTries) throw error
    }
  }
}

/** True for the error of a function that has used up its time. It is an error of another context, so `instanceof` is false for it. */
export const isTimeout = (error: unknown): boolean =>
  typeof error === "object" && error !== null && "code" in error && error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT"

const runLimited = <A>(run: () => A, timeout: number): A => {
  const outcome: { value?: A } = {}
  runInNewContext(
    "run()",
    {
      run: () => {
        outcome.value = run()
      }
    },
    { timeout }
  )
  if (!("value" in outcome)) throw new Error("it has not run")
  return outcome.value
}
