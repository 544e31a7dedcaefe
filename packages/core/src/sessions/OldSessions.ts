import type { Fragment } from "@effect/sql/Statement"
import type { SessionId } from "@reins/base/domain/Ids"
import type { Timestamp } from "@reins/base/domain/Timestamp"
import { Effect } from "effect"
import { Database } from "../store/Database.js"

/** The sessions of a workspace that are archived or closed, and were last used before a time, with all that work for them. */
export const oldSessions = Effect.map(Database, ({ all, first, sql }) => {
  /** A table of the sessions that work for no other one, each with the number of its tree, where the whole tree is old. */
  const oldTrees = (workspaceId: string, before: Timestamp): Fragment => sql`
    with recursive tree (root, id) as (
      select id, id from sessions where workspace_id = ${workspaceId} and lifecycle in ('archived', 'closed')
        and updated_at < ${before} and parent_session_id is null and deleting_at is null
      union all select tree.root, sessions.id from sessions join tree on sessions.parent_session_id = tree.id
    ), old as (
      select tree.root, cast(count(*) as integer) as sessions from tree join sessions on sessions.id = tree.id
      group by tree.root
      having sum(case when sessions.lifecycle = 'open' or sessions.updated_at >= ${before} then 1 else 0 end) = 0
    )`

  return {
    /** Some of those that work for no other one, by their ids. */
    roots: (
      workspaceId: string,
      before: Timestamp,
      { after, limit }: { readonly after: string; readonly limit: number }
    ): Effect.Effect<ReadonlyArray<SessionId>> =>
      Effect.map(
        all(sql<{ root: SessionId }>`${oldTrees(workspaceId, before)}
          select root from old where root > ${after} order by root limit ${limit}`),
        (rows) => rows.map(({ root }) => root)
      ),

    /** The number of all of them. */
    count: (workspaceId: string, before: Timestamp): Effect.Effect<number> =>
      Effect.map(
        first(sql<{ count: number }>`${oldTrees(workspaceId, before)}
          select cast(coalesce(sum(sessions), 0) as integer) as count from old`),
        (row) => row?.count ?? 0
      )
  }
})
