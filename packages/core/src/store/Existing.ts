import { Effect } from "effect"

/** What a command has just written or held, by its id: that it is not there is a defect. */
export const existingOf =
  <A>(resource: string, find: (id: string) => Effect.Effect<A | undefined>) =>
  (id: string): Effect.Effect<A> =>
    Effect.flatMap(find(id), (found) =>
      found === undefined ? Effect.dieMessage(`no ${resource} ${id}`) : Effect.succeed(found)
    )
