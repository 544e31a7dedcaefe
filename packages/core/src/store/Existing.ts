import { Effect } from "effect"

/** A lookup, by the id of a thing that a command has written, held or been given by the database. Dies when it is not there. */
export const existingOf =
  <A, R>(resource: string, find: (id: string) => Effect.Effect<A | undefined, never, R>) =>
  (id: string): Effect.Effect<A, never, R> =>
    Effect.flatMap(find(id), (found) =>
      found === undefined ? Effect.dieMessage(`no ${resource} ${id}`) : Effect.succeed(found)
    )
