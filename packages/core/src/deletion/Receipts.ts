import type { SessionId } from "@reins/base/domain/Ids"
import { now } from "@reins/base/domain/Timestamp"
import { Effect } from "effect"
import { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import type { SessionDeletion } from "./DeletionsApi.js"

type Row = Omit<SessionDeletion, "deleted_by"> & { readonly deleted_by: string }

const toDeletion = (row: Row): SessionDeletion => ({ ...row, deleted_by: JSON.parse(row.deleted_by) })

/** The receipts of deleted sessions as rows. */
export const receiptStore = Effect.map(Database, ({ all, first, run, sql }) => ({
  find: (sessionId: string): Effect.Effect<SessionDeletion | undefined> =>
    Effect.map(
      first(sql<Row>`select * from session_deletions where session_id = ${sessionId}`),
      (row) => row && toDeletion(row)
    ),

  /** Those of some sessions of which nothing is left. */
  deletedOf: (sessionIds: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<SessionId>> =>
    Effect.map(
      all(sql<{ session_id: SessionId }>`select session_id from session_deletions
        where ${sql.in("session_id", [...sessionIds])} and state = 'deleted'`),
      (rows) => rows.map(({ session_id }) => session_id)
    ),

  /** The receipts of a workspace, the newest session first. */
  list: (
    workspaceId: string,
    { before, limit }: { readonly before: string; readonly limit: number }
  ): Effect.Effect<ReadonlyArray<SessionDeletion>> =>
    Effect.map(
      all(sql<Row>`select * from session_deletions where workspace_id = ${workspaceId} and session_id < ${before}
        order by session_id desc limit ${limit}`),
      (rows) => rows.map(toDeletion)
    ),

  insert: (receipt: SessionDeletion): Effect.Effect<void, never, Commit> =>
    Effect.zipRight(
      Commit,
      run(
        sql`insert into session_deletions ${sql.insert({ ...receipt, deleted_by: JSON.stringify(receipt.deleted_by) })}`
      )
    ),

  /** Notes that nothing is left of a session. */
  finish: Effect.fnUntraced(function* (sessionId: SessionId): Effect.fn.Return<void, never, Commit> {
    yield* run(sql`update session_deletions set state = 'deleted', finished_at = ${yield* now}
      where session_id = ${sessionId}`)
  })
}))
