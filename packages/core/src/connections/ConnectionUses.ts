import { type Hearers, makeHearers } from "@reins/base/base/Hearers"
import type { ConnectionId, TurnId } from "@reins/base/domain/Ids"
import { Context, type Effect, Layer } from "effect"
import type { Commit } from "../store/Commit.js"

/** Finds a turn that runs with a connection. The caller's commit holds the connection, so no turn begins with it meanwhile. */
export type FindUse = (connectionId: ConnectionId) => Effect.Effect<TurnId | undefined, never, Commit>

/** Finds uses of connections. The rooms that use connections register here, because this room may not import them. */
export class ConnectionUses extends Context.Tag("@reins/core/connections/ConnectionUses")<
  ConnectionUses,
  Pick<Hearers<FindUse>, "register"> & {
    /** The first turn that a registered room finds; undefined when no turn runs with the connection. */
    readonly find: FindUse
  }
>() {
  static readonly layer = Layer.sync(ConnectionUses, () => {
    const { ask, register } = makeHearers<FindUse>()
    return ConnectionUses.of({ register, find: (connectionId) => ask((find) => find(connectionId)) })
  })
}
