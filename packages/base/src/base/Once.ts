import { Duration, Effect, Exit, Fiber, Runtime } from "effect"

/**
 * The value of an effect that runs once, in a fiber of its own. `Effect.cached` runs in its first caller, and a caller that is interrupted at that moment
 * would leave its interruption to all later ones. A failure is kept as a value is. After a defect the next caller runs the effect again.
 */
export const once = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<Effect.Effect<A, E, R>> =>
  onceFor(effect, Duration.infinity)

/** Something whose module is loaded and that is made at its first use, as a server starts sooner without it. */
export const loadedOnce = <A, R>(load: () => Promise<Effect.Effect<A, never, R>>) =>
  Effect.flatMap(Effect.context<R>(), (context) => once(Effect.provide(Effect.flatten(Effect.promise(load)), context)))

/** As `once`, with a value that counts from the start of the effect for a time. Whoever asks later runs it again. */
export const onceFor = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  freshness: Duration.DurationInput
): Effect.Effect<Effect.Effect<A, E, R>> =>
  Effect.sync(() => {
    const freshMs = Duration.toMillis(freshness)
    let begun: { readonly fiber: Fiber.RuntimeFiber<A, E>; readonly atMs: number } | undefined
    const run = (runtime: Runtime.Runtime<R>, nowMs: number) => {
      const fiber = Runtime.runFork(runtime)(effect)
      const own = { fiber, atMs: nowMs }
      begun = own
      fiber.addObserver((exit) => {
        const isDefect = Exit.isFailure(exit) && exit.cause._tag !== "Fail"
        if (isDefect && begun === own) begun = undefined
      })
      return fiber
    }
    return Effect.flatMap(Effect.runtime<R>(), (runtime) =>
      Effect.clockWith((clock) => {
        const nowMs = clock.unsafeCurrentTimeMillis()
        const fiber = begun !== undefined && nowMs - begun.atMs < freshMs ? begun.fiber : run(runtime, nowMs)
        return Effect.flatten(Fiber.await(fiber))
      })
    )
  })
