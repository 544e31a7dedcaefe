import { performance } from "node:perf_hooks"
import { Clock, Effect, Schedule, type Scope } from "effect"
import type pg from "pg"

/** Milliseconds between two looks at the clock of the server. The clock that runs in between cannot be set, and drifts by a few microseconds. */
const lookMs = 5_000

const question = "select extract(epoch from clock_timestamp()) * 1000 as ms"

/**
 * The clock of a PostgreSQL server, as this process knows it: the server is asked now and then, and a clock that nobody can set runs in
 * between. Fails as the first question does. While the server is away, the clock goes on.
 */
export const make = <E>(pool: pg.Pool, failed: (cause: unknown) => E): Effect.Effect<Clock.Clock, E, Scope.Scope> =>
  Effect.gen(function* () {
    const estimate = new Estimate()
    const look = Effect.tryPromise({ try: () => ask(pool, estimate), catch: failed })
    // The first answer takes as long as a connection takes to open.
    yield* Effect.zipRight(look, look)
    yield* Effect.ignore(look).pipe(
      Effect.repeat(Schedule.spaced(lookMs)),
      Effect.delay(lookMs),
      // The look goes by real time, whatever clock the layer is made on.
      Effect.withClock(Clock.make()),
      Effect.forkScoped
    )
    return clockOf(estimate)
  })

const ask = async (pool: pg.Pool, estimate: Estimate): Promise<void> => {
  const askedAt = performance.now()
  const { rows } = await pool.query<{ readonly ms: string }>(question)
  estimate.learn(Number(rows[0]?.ms), askedAt, performance.now())
}

/** The knowledge of another clock. Times of this process are milliseconds of `performance.now`. */
export class Estimate {
  /** The milliseconds since 1970 at the beginning of this process, by the other clock. */
  private origin: number | undefined

  /**
   * The other clock was at `ms` at some time between two times of this process. The estimate is the latest that the other clock has reached
   * for certain, so that what is due at once by this clock is due by the other one, and a slow answer changes nothing that is known better.
   */
  learn(ms: number, from: number, to: number): void {
    const [least, most] = [ms - to, ms - from]
    this.origin = this.origin === undefined || this.origin > most ? least : Math.max(this.origin, least)
  }

  /** The milliseconds since 1970 by the other clock. */
  at(time: number): number {
    return (this.origin ?? 0) + time
  }
}

/** A clock that tells the time of the estimate, and sleeps as any other. */
export const clockOf = (estimate: Estimate): Clock.Clock => {
  const timers = Clock.make()
  const millis = () => Math.floor(estimate.at(performance.now()))
  const nanos = () => BigInt(Math.floor(estimate.at(performance.now()) * 1000)) * 1000n
  return {
    [Clock.ClockTypeId]: Clock.ClockTypeId,
    unsafeCurrentTimeMillis: millis,
    unsafeCurrentTimeNanos: nanos,
    currentTimeMillis: Effect.sync(millis),
    currentTimeNanos: Effect.sync(nanos),
    sleep: (duration) => timers.sleep(duration)
  }
}
