import { readFileSync } from "node:fs"
import { availableParallelism } from "node:os"
import { Effect } from "effect"

/**
 * Counts the seconds that a machine of its own would have had for this process. A second in which three programs wait for each processor is a
 * third of one. A limit by the wall ends tests on a busy machine with nothing wrong; one in these seconds does not.
 */
export const machineSeconds = (): number => {
  const now = performance.now()
  passed += ((now - seen) / 1000) * Math.min(1, availableParallelism() / runningPrograms())
  seen = now
  return passed
}

/** Runs until it is done or has had so many machine seconds, and then dies with an error that says so. */
export const within =
  (seconds: number, what = "This") =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.raceFirst(
      effect,
      Effect.zipRight(
        Effect.promise((signal) => hasPassed(seconds, signal)),
        late(seconds, what)
      )
    )

/** Resolves once so many machine seconds have passed, unless it is no longer wanted. */
export const hasPassed = (seconds: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const end = machineSeconds() + seconds
    const timer = setInterval(() => {
      if (machineSeconds() < end) return
      clearInterval(timer)
      resolve()
    }, sampleMs)
    signal.addEventListener("abort", () => clearInterval(timer), { once: true })
  })

const late = (seconds: number, what: string) =>
  Effect.dieMessage(`${what} was not done in ${seconds} seconds of a machine of its own.`)

let passed = 0
let seen = performance.now()

/** Programs that run or want to. One where the system does not tell. */
const runningPrograms = (): number => {
  try {
    return Math.max(1, Number(/ (\d+)\/\d+ /.exec(readFileSync("/proc/loadavg", "utf8"))?.[1] ?? 1))
  } catch {
    return 1
  }
}

const sampleMs = 250
