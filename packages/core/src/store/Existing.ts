import { Effect } from "effect"

/** Finds a row by its id that a command has just written or held. Dies when there is none. */
export const existingOf =
  <A, R>(resource: string, find: (id: string) => Effect.Effect<A | undefined, never, R>) =>
  (id: string): Effect.Effect<A, never, R> =>
    Effect.flatMap(find(id), (found) =>
      found === undefined ? Effect.dieMessage(`no ${resource} ${id}`) : Effect.succeed(found)
    )
