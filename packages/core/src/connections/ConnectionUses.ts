import { Context, Effect, Layer } from "effect"
import type { ConnectionId, TurnId } from "../domain/Ids.js"
import type { Commit } from "../store/Commit.js"

/** Finds a turn that runs with a connection. The commit holds the connection. */
export type FindUse = (connectionId: ConnectionId) => Effect.Effect<TurnId | undefined, never, Commit>

/** The rooms that use connections tell here how to find such a use, because connections know none of those rooms. */
export class ConnectionUses extends Context.Tag("@reins/core/connections/ConnectionUses")<
  ConnectionUses,
  {
    /** Takes part in `find` for as long as the service lives. */
    readonly register: (find: FindUse) => Effect.Effect<void>
    /** The first use that a room finds; undefined when nobody uses the connection now. */
    readonly find: FindUse
  }
>() {
  static readonly layer = Layer.sync(ConnectionUses, () => {
    const rooms: Array<FindUse> = []
    return ConnectionUses.of({
      register: (find) => Effect.sync(() => void rooms.push(find)),
      find: Effect.fnUntraced(function* (connectionId) {
        for (const find of rooms) {
          const turnId = yield* find(connectionId)
          if (turnId !== undefined) return turnId
        }
        return undefined
      })
    })
  })
}
