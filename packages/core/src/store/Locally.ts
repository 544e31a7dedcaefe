import { Effect, FiberRef } from "effect"

/** `Effect.locally` with half of its steps, for what every command does. */
export const locally = <A, E, R, Value>(
  effect: Effect.Effect<A, E, R>,
  ref: FiberRef.FiberRef<Value>,
  value: Value
): Effect.Effect<A, E, R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(FiberRef.getAndSet(ref, value), (before) =>
      Effect.flatMap(Effect.exit(restore(effect)), (exit) => Effect.zipRight(FiberRef.set(ref, before), exit))
    )
  )
