import type { SqlClient } from "@effect/sql"
import type { SessionId } from "@reins/base/domain/Ids"
import { Effect } from "effect"
import { isLapsed } from "../placement/NodeClock.js"
import type { Placements } from "../placement/Placements.js"
import type { Database } from "../store/Database.js"
import { isJobWaiting } from "./JobStatements.js"

/** The most sessions that are placed at once. */
const placedAtOnce = 100

/** The sessions whose due work no node has, or a node that is given up, the longest due first. */
export const unplacedIn = (
  { all, clock, sql }: Database["Type"],
  { isSettled }: Placements["Type"]
): Effect.Effect<ReadonlyArray<SessionId>> =>
  Effect.gen(function* () {
    const rows = yield* all(sql<{ session_id: SessionId }>`select session_id from jobs where ${isJobWaiting(sql)}
      and held = 0 and session_id is not null and run_at <= ${yield* clock.at(0)}
      and not (${isSettled(sql`jobs.session_id`, sql`jobs.node_id`)})
      group by session_id order by min(run_at) limit ${placedAtOnce}`)
    return rows.map((row) => row.session_id)
  })

/** The conditions by which a node finds lost work. */
export const lostWorkBounds = (sql: SqlClient.SqlClient, self: string) => {
  const lapsed = isLapsed(sql, sql`jobs.node_id`)
  return {
    /** Leaves the lost work of another node that is alive to that node, which has the files and knows best how far it came. */
    mayEnd: sql` and (jobs.node_id is null or jobs.node_id = ${self} or ${lapsed})`,
    /** The work of a node whose lease has run out is lost: the node has ended what needs files before. */
    ofLapsed: sql`(jobs.node_id <> ${self} and ${lapsed})`
  }
}
