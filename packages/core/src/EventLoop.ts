import { Effect } from "effect"

/** Lets others be served: what comes before and after work on a large value, which would hold up everybody in one piece. */
export const turnOfTheLoop: Effect.Effect<void> = Effect.async<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})
