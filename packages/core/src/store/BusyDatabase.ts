import { Cause, Clock, Effect, FiberRef, Option } from "effect"
import { failedStatementOf } from "./FailedStatement.js"

/** Another statement was in the way, or a connection, memory or time was missing: the same work may succeed later. */
const passing = /^(?:40001|40P01|53000|53200|53300|53400|55P03|57014|SQLITE_(?:BUSY|LOCKED)\w*)$/

/** True for a refusal of a database that may be gone the next time, and that wrote nothing. */
export const isBusy = (failure: unknown): boolean => passing.test(failedStatementOf(failure)?.code ?? "")

/** Milliseconds for which a fiber tries again what a busy database refuses. */
const patience = FiberRef.unsafeMake(0)
const patienceMs = 30_000
const tryAgainMs = 500

/** Work that nobody can ask for again. A request tells its caller at once that the database is busy. */
export const patient = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.locally(work, patience, patienceMs)

/** Runs an effect again that a busy database refused, in a fiber that is `patient`. The effect must leave nothing behind when it does not succeed. */
export const onceItIsFree = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.flatMap(FiberRef.get(patience), (ms) =>
    ms === 0 ? effect : Effect.flatMap(Clock.currentTimeMillis, (at) => tryUntil(effect, at + ms))
  )

const tryUntil = <A, E, R>(effect: Effect.Effect<A, E, R>, until: number): Effect.Effect<A, E, R> =>
  Effect.catchAllCause(effect, (cause) =>
    isBusy(Option.getOrUndefined(Cause.dieOption(cause)))
      ? Effect.flatMap(Clock.currentTimeMillis, (at) =>
          at < until ? Effect.delay(tryUntil(effect, until), tryAgainMs) : Effect.failCause(cause)
        )
      : Effect.failCause(cause)
  )
