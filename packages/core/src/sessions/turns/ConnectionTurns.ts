import type { TurnId } from "@reins/base/domain/Ids"
import { Effect, Layer } from "effect"
import { ConnectionUses } from "../../connections/ConnectionUses.js"
import { Database } from "../../store/Database.js"
import { isLive } from "../rows/TurnConditions.js"

/** Tells connections which turn runs with one of them, so that it is not revoked meanwhile. */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const db = yield* Database
    const uses = yield* ConnectionUses
    yield* uses.register((connectionId) =>
      Effect.map(
        db.first(db.sql<{ id: TurnId }>`select turns.id from turns join sessions on sessions.id = turns.session_id
          where sessions.connection_id = ${connectionId}
          and ${db.sql.literal(isLive("turns"))} limit 1`),
        (turn) => turn?.id
      )
    )
  })
)
