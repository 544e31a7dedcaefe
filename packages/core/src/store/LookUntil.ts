import { Effect } from "effect"
import type { Bell } from "./Bell.js"

/** The longest time that a lost ring can delay a look, in milliseconds. */
const lostRingMs = 5000

/** The thing that is looked for. */
export interface Sought<A, E, R> {
  /** A ring of these topics says to look again. */
  readonly topics: ReadonlyArray<string>
  /** Gives undefined when there is nothing yet. */
  readonly look: Effect.Effect<A | undefined, E, R>
  /** The milliseconds after which it is worth to look again, when these are fewer than five seconds. */
  readonly waitMs?: () => number
}

/** Looks until there is something: at once, at each ring, and now and then by itself, because a ring can be lost. */
export const lookUntil = <A, E, R>(
  bell: Bell["Type"],
  { look, topics, waitMs = () => lostRingMs }: Sought<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const rung = Effect.unsafeMakeLatch(false)
      return { rung, stops: topics.map((topic) => bell.listen(topic, () => rung.unsafeOpen())) }
    }),
    ({ rung }) =>
      Effect.gen(function* () {
        while (true) {
          // Closed before the look, so that a ring during it is not missed.
          yield* rung.close
          const found = yield* look
          if (found !== undefined) return found
          yield* Effect.timeoutOption(rung.await, Math.min(waitMs(), lostRingMs))
        }
      }),
    ({ stops }) =>
      Effect.sync(() => {
        for (const stop of stops) stop()
      })
  )
