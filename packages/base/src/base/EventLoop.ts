import { Effect } from "effect"

/** Ends a turn of the event loop, so that others are served before an effect goes on. */
export const turnOfTheLoop: Effect.Effect<void> = Effect.async<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})

/** Work on more bytes or characters than this holds up others for a noticeable time. */
const large = 64 * 1024
const oneAtATime = Effect.unsafeMakeSemaphore(1)
/** A turn of the loop accepts one connection. So many waiting connections are accepted after each large piece of work. */
const turnsForOthers = 128

/** Does synchronous work on a value of `size` bytes or characters. Others are served between any two large pieces of work. */
export const inItsTurn = <A>(size: number, work: () => A): Effect.Effect<A> =>
  size <= large
    ? Effect.sync(work)
    : oneAtATime.withPermits(1)(
        Effect.zipLeft(
          Effect.zipRight(turnOfTheLoop, Effect.sync(work)),
          Effect.repeatN(turnOfTheLoop, turnsForOthers - 1)
        )
      )
