import { Cause, Effect, Option, Schedule } from "effect"
import { failedStatementOf } from "./FailedStatement.js"

/** The longest time for which a lost race is run again, which is shorter than a request lives. */
const patience = "10 seconds"
const longestWait = "200 millis"

/** PostgreSQL ends one of two transactions that wait for each other (40P01) or cannot be ordered (40001). */
const isLostRace = (cause: Cause.Cause<unknown>): boolean =>
  ["40P01", "40001"].includes(failedStatementOf(Option.getOrUndefined(Cause.dieOption(cause)))?.code ?? "")

/** Runs an effect again that has lost a race for its rows. The effect must leave nothing behind when it does not succeed. */
export const retryLostRace = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.retry(Effect.sandbox(effect), {
    while: isLostRace,
    schedule: Schedule.upTo(
      Schedule.jittered(Schedule.union(Schedule.exponential("5 millis"), Schedule.spaced(longestWait))),
      patience
    )
  }).pipe(Effect.unsandbox)
