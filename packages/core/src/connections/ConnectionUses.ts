import { Context, Effect, Layer } from "effect"
import type { ConnectionId, TurnId } from "../domain/Ids.js"
import type { Commit } from "../store/Commit.js"

/** Finds a turn that runs with a connection. The caller's commit holds the connection, so no turn begins with it meanwhile. */
export type FindUse = (connectionId: ConnectionId) => Effect.Effect<TurnId | undefined, never, Commit>

/** Finds uses of connections. The rooms that use connections register here, because this room may not import them. */
export class ConnectionUses extends Context.Tag("@reins/core/connections/ConnectionUses")<
  ConnectionUses,
  {
    /** Asks `find` in every later search, until the service ends. */
    readonly register: (find: FindUse) => Effect.Effect<void>
    /** The first turn that a registered room finds; undefined when no turn runs with the connection. */
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
