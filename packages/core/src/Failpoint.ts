import { Effect } from "effect"

/**
 * A point at which the crash suite ends the process, to prove that the next start loses and doubles nothing. Here it does nothing:
 * the build of that suite puts a module that kills in the place of this one, so no product holds a way to be killed.
 *
 * A name tells the path and what has just happened on it, as in `delivery.pushed`.
 */
export const failpoint = (_name: string): Effect.Effect<void> => Effect.void
