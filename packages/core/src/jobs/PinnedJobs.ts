import type { SqlClient } from "@effect/sql"
import type { Fragment } from "@effect/sql/Statement"
import { Effect } from "effect"
import type { SessionId } from "../domain/Ids.js"
import { now } from "../domain/Timestamp.js"
import { isLapsed } from "../placement/NodeClock.js"
import type { Database } from "../store/Database.js"
import { isWaiting } from "./JobStatements.js"

/** The most sessions that are placed at once. */
const placedAtOnce = 100

/** The sessions whose due work no node has yet, the longest due first. */
export const unplacedIn = ({ all, sql }: Database["Type"]): Effect.Effect<ReadonlyArray<SessionId>> =>
  Effect.gen(function* () {
    const rows = yield* all(sql<{ session_id: SessionId }>`select session_id from jobs where ${isWaiting(sql)}
      and held = 0 and session_id is not null and node_id is null and run_at <= ${yield* now}
      group by session_id order by min(run_at) limit ${placedAtOnce}`)
    return rows.map((row) => row.session_id)
  })

/** Leaves the lost work of another node that is alive to that node, which has the files and knows best how far it came. */
export const mayEnd = (sql: SqlClient.SqlClient, self: string): Fragment =>
  sql` and (jobs.node_id is null or jobs.node_id = ${self} or ${isLapsed(sql, sql`jobs.node_id`)})`
