import { Effect } from "effect"

/**
 * The value of an effect that runs once, by itself. `Effect.cached` runs in its first caller, and a client that goes away at that moment would leave its
 * interruption to all later ones. After a defect the next caller runs it again.
 */
export const once = <A>(effect: Effect.Effect<A>): Effect.Effect<Effect.Effect<A>> =>
  Effect.sync(() => {
    let begun: Promise<A> | undefined
    const run = () =>
      Effect.runPromise(effect).catch((defect) => {
        begun = undefined
        throw defect
      })
    return Effect.promise(() => (begun ??= run()))
  })
