import type { Actor } from "@reins/base/domain/Event"
import type { SessionId } from "@reins/base/domain/Ids"
import { now } from "@reins/base/domain/Timestamp"
import { Effect } from "effect"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import { Journal } from "../store/Journal.js"
import { searchIndex } from "./rows/SearchIndex.js"
import { noUsageStored } from "./rows/Session.js"
import type { SessionRow } from "./rows/SessionRow.js"

/** The ways in which a session goes for good. */
export const sessionRemoval = Effect.gen(function* () {
  const db = yield* Database
  const journal = yield* Journal
  const { sql } = db
  const { forget } = yield* searchIndex

  return {
    /** The sessions that work for a session, directly or not, by their ids. */
    descendants: (sessionId: string): Effect.Effect<ReadonlyArray<SessionId>> =>
      Effect.map(
        db.all(sql<{ id: SessionId }>`with recursive tree (id) as (
            select id from sessions where parent_session_id = ${sessionId}
            union select sessions.id from sessions join tree on sessions.parent_session_id = tree.id
          ) select id from tree order by id`),
        (rows) => rows.map(({ id }) => id)
      ),

    /** Some of the sessions of a workspace whose deletion has not begun, those that work for no other one first. */
    stillIn: (workspaceId: string, limit: number): Effect.Effect<ReadonlyArray<SessionId>> =>
      Effect.map(
        db.all(sql<{
          id: SessionId
        }>`select id from sessions where workspace_id = ${workspaceId} and deleting_at is null
          order by case when parent_session_id is null then 0 else 1 end, id limit ${limit}`),
        (rows) => rows.map(({ id }) => id)
      ),

    /** True once the deletion of a session has begun. */
    isHidden: (sessionId: string): Effect.Effect<boolean> =>
      Effect.map(
        db.first(sql`select id from sessions where id = ${sessionId} and deleting_at is null`),
        (row) => row === undefined
      ),

    /** True while a session of a workspace is there, also one that is being deleted. */
    anyIn: (workspaceId: string): Effect.Effect<boolean> =>
      Effect.map(
        db.first(sql`select id from sessions where workspace_id = ${workspaceId} limit 1`),
        (row) => row !== undefined
      ),

    /** Takes a session from everybody's sight, and tells that it is deleted. The commit holds the session. */
    hide: Effect.fnUntraced(function* (
      row: Pick<SessionRow, "id">,
      actor: Actor,
      deletedWith: SessionId | null
    ): Effect.fn.Return<void, never, Commit> {
      yield* db.run(sql`update sessions set deleting_at = ${yield* now} where id = ${row.id}`)
      yield* journal.append(row.id, actor, [{ type: "session.deleted", payload: { deleted_with: deletedWith } }])
    }),

    /** Deletes the words of some texts from the search, and gives the number of the texts. */
    forgetWords: forget,

    /** Empties a session of all that clients and agents gave it, and takes it from the sessions that name it. */
    empty: Effect.fnUntraced(function* (sessionId: SessionId): Effect.fn.Return<void, never, Commit> {
      yield* db.run(sql`update sessions set ${sql.update(emptied)} where id = ${sessionId}`)
      yield* db.run(sql`update sessions set linked_from_session_id = null, link_kind = null
        where linked_from_session_id = ${sessionId}`)
      yield* db.run(sql`update sessions set parent_session_id = null where parent_session_id = ${sessionId}`)
    }),

    /** Deletes the session itself, of which nothing else is left. */
    remove: (sessionId: SessionId): Effect.Effect<void, never, Commit> =>
      db.run(sql`delete from sessions where id = ${sessionId}`)
  }
})

const emptied = {
  title: null,
  labels: "{}",
  model: null,
  options: null,
  permissions: null,
  executor_limits: null,
  usage: noUsageStored
} as const
