import { Effect, type Scope } from "effect"
import { Bell } from "./Bell.js"
import { logDefect } from "./FailedStatement.js"

/** The answer of a round that wants the next one before the longest time is over: after so many milliseconds, or at once after 0. */
export interface Pause {
  readonly waitMs: number
}

/** Work in the background of a process, which is done round after round. */
export interface Loop<R = never> {
  /** The log line after a defect, as "idle executors could not be released". */
  readonly failure: string
  /** Does what there is to do. */
  readonly round: Effect.Effect<void, never, R> | Effect.Effect<Pause | undefined, never, R>
  /** The longest time between two rounds in milliseconds, which is also the longest delay by a lost ring. */
  readonly everyMs: number
  /** A ring of these topics begins the next round. */
  readonly topics?: ReadonlyArray<string>
  /** The milliseconds after a defect until the loop goes on: 1000 without it. */
  readonly againMs?: number
  /** Writes the log line: `logDefect` without it. */
  readonly tell?: (failure: string, defect: unknown) => Effect.Effect<void>
}

/** Runs a loop until it is interrupted. The first round begins at once. */
export const run = <R>(loop: Loop<R>): Effect.Effect<never, never, R | Bell> =>
  Effect.flatMap(Bell, (bell) =>
    Effect.acquireUseRelease(
      Effect.sync(() => {
        const rung = Effect.unsafeMakeLatch(true)
        return { rung, stops: (loop.topics ?? []).map((topic) => bell.listen(topic, () => rung.unsafeOpen())) }
      }),
      ({ rung }) => {
        const step = Effect.gen(function* () {
          // Closed before the round, so that a ring during it is not missed.
          yield* rung.close
          const pause = yield* loop.round
          const waitMs = Math.min(loop.everyMs, pause ? pause.waitMs : loop.everyMs)
          if (waitMs > 0) yield* Effect.timeoutOption(rung.await, waitMs)
        })
        return Effect.forever(insist(loop, step))
      },
      ({ stops }) =>
        Effect.sync(() => {
          for (const stop of stops) stop()
        })
    )
  )

/** Runs a loop for as long as the scope. */
export const start = <R>(loop: Loop<R>): Effect.Effect<void, never, R | Bell | Scope.Scope> =>
  Effect.asVoid(Effect.forkScoped(run(loop)))

/** Does something again after each defect, until it is done. */
export const insist = <A, E, R>(
  of: Pick<Loop, "againMs" | "failure" | "tell">,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.catchAllDefect(effect, (defect) => {
    const { againMs = 1000, failure, tell = logDefect } = of
    return Effect.zipRight(
      tell(failure, defect),
      Effect.delay(
        Effect.suspend(() => insist(of, effect)),
        againMs
      )
    )
  })
