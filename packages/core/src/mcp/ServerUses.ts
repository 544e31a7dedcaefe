import { Effect, Layer } from "effect"
import { ConnectionUses } from "../connections/ConnectionUses.js"
import type { TurnId } from "../domain/Ids.js"
import { isLive } from "../sessions/turns/TurnConditions.js"
import { Database } from "../store/Database.js"

/** Tells connections which turn runs with a server of one of them, so that it is not revoked meanwhile. */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const db = yield* Database
    const uses = yield* ConnectionUses
    yield* uses.register((connectionId) =>
      Effect.map(
        db.first(db.sql<{ id: TurnId }>`select turns.id from turns join sessions on sessions.id = turns.session_id
          join project_versions on project_versions.id = sessions.project_version_id
          where project_versions.spec like ${`%"connection_id":"${connectionId}"%`}
          and ${db.sql.literal(isLive("turns"))} limit 1`),
        (turn) => turn?.id
      )
    )
  })
)
