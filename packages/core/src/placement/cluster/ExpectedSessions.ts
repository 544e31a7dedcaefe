import type { SessionId } from "@reins/base/domain/Ids"
import { Effect } from "effect"
import { expectedTopic } from "../../store/Bell.js"
import type { Database } from "../../store/Database.js"
import type { Journal } from "../../store/Journal.js"
import { nowMs } from "../NodeClock.js"

/** An expected session is left to its first turn after so long, in milliseconds. */
const freshMs = 60_000

/** The sessions that nodes were told to expect, as notes in their placements. */
export const make = (
  { all, run, sql }: Database["Type"],
  { commit, ringAfterCommit }: Pick<Journal["Type"], "commit" | "ringAfterCommit">
) => ({
  /** Tells a node to expect a session that it has. */
  note: (sessionId: SessionId, node: string) =>
    commit(
      Effect.zipRight(
        run(sql`update placements set expected = 1 where session_id = ${sessionId}`),
        ringAfterCommit(expectedTopic(node))
      )
    ),
  /** Takes those that a node has, in the order of their placement. */
  take: (node: string) =>
    Effect.map(
      all(sql<{ session_id: SessionId }>`with noted as (
          update placements set expected = 0 where node_id = ${node} and expected = 1 returning session_id, placed_at
        ) select session_id from noted where placed_at > ${nowMs(sql)} - ${freshMs}::bigint order by placed_at`),
      (rows) => rows.map((row) => row.session_id)
    )
})
