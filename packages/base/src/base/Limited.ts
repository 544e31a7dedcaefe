import { Effect, Fiber } from "effect"

/**
 * The work under a limit, such as `Effect.timeoutOption("1 second")`, which ends the work also where interruption is off. An interruption does
 * not end it there: a fiber passes on to its children that it was interrupted, so the work runs in one that is no child.
 */
export const limited = <A, E, R, B, E2>(
  work: Effect.Effect<A, E, R>,
  limit: (work: Effect.Effect<A, E, R>) => Effect.Effect<B, E2, R>
): Effect.Effect<B, E2, R> =>
  Effect.checkInterruptible((canBeInterrupted) =>
    canBeInterrupted ? limit(work) : Effect.flatMap(Effect.forkDaemon(limit(Effect.interruptible(work))), Fiber.join)
  )
