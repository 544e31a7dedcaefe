import { Effect, Layer } from "effect"
import { ConnectionUses } from "../connections/ConnectionUses.js"
import { versionsNaming } from "../projects/ServerConnections.js"
import { versionTurns } from "../sessions/turns/VersionTurns.js"
import { Database } from "../store/Database.js"

/** Tells connections which turn runs with a server of one of them, so that it is not revoked meanwhile. */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const db = yield* Database
    const uses = yield* ConnectionUses
    yield* uses.register(
      Effect.fnUntraced(function* (connectionId) {
        const turns = yield* versionTurns(db)
        const naming = yield* versionsNaming(
          db,
          connectionId,
          turns.map(({ version_id }) => version_id)
        )
        return turns.find(({ version_id }) => naming.has(version_id))?.id
      })
    )
  })
)
