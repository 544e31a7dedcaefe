import { Effect } from "effect"

/** Lets others be served before an effect goes on. */
export const turnOfTheLoop: Effect.Effect<void> = Effect.async<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})

/** Work on more bytes or characters than this takes so long that others are served between two pieces of it. */
const large = 64 * 1024
const oneAtATime = Effect.unsafeMakeSemaphore(1)
/** A turn of the loop accepts one connection: as many that wait are taken after a piece of work. */
const turnsForOthers = 128

/**
 * Does a piece of work on a value of so many bytes or characters, which holds up everybody while it lasts. When that is much, no two
 * pieces are done without others being served in between.
 */
export const inItsTurn = <A>(size: number, work: () => A): Effect.Effect<A> =>
  size <= large
    ? Effect.sync(work)
    : oneAtATime.withPermits(1)(
        Effect.zipLeft(
          Effect.zipRight(turnOfTheLoop, Effect.sync(work)),
          Effect.repeatN(turnOfTheLoop, turnsForOthers - 1)
        )
      )
