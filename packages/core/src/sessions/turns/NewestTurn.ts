import type { SessionId, TurnId } from "@reins/base/domain/Ids"
import { Effect } from "effect"
import type { Database } from "../../store/Database.js"
import type { TurnState } from "../rows/Turn.js"

/** The newest turn of a session that is in one of these states; null without one. */
export const newestTurn = (
  { first, sql }: Database["Type"],
  sessionId: SessionId,
  states: ReadonlyArray<TurnState>
): Effect.Effect<TurnId | null> =>
  Effect.map(
    first(sql<{ id: TurnId }>`select id from turns where session_id = ${sessionId} and ${sql.in("state", states)}
      order by ordinal desc limit 1`),
    (row) => row?.id ?? null
  )
