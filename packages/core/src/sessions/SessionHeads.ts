import type { SessionId } from "@reins/base/domain/Ids"
import { Effect } from "effect"
import { Database } from "../store/Database.js"
import type { SessionRow } from "./rows/SessionRow.js"
import * as SessionStatements from "./rows/SessionStatements.js"

/** A session as lists of other rooms show it. */
export interface SessionHead
  extends Pick<
    SessionRow,
    "id" | "workspace_id" | "title" | "labels" | "lifecycle" | "provider_id" | "project" | "usage" | "created_at"
  > {
  readonly parent_session_id: SessionRow["lineage"]["parent_session_id"]
  readonly repository: SessionRow["tree"]["repository"]
  readonly event_watermark: number
}

/** Sessions as lists of other rooms need them. */
export const sessionHeads = Effect.gen(function* () {
  const db = yield* Database
  const { select } = yield* SessionStatements.make
  const { sql } = db
  const parentOf = db.prepare(
    (id: string) => sql<{ parent: SessionId | null }>`select parent_session_id as parent from sessions where id = ${id}`
  )

  return {
    /** Those with these ids that nobody has deleted, in any order. */
    some: (ids: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<SessionHead>> =>
      ids.length === 0
        ? Effect.succeed([])
        : Effect.map(select({ where: sql`${sql.in("sessions.id", ids)} and sessions.deleting_at is null` }), (rows) =>
            rows.map(toHead)
          ),

    /** The open sessions without a turn among the newest of a workspace, at most so many, newest first. */
    untouched: (workspaceId: string, among: number): Effect.Effect<ReadonlyArray<SessionHead>> =>
      Effect.map(
        select({
          from: sql`(select * from sessions where workspace_id = ${workspaceId} and lifecycle = 'open'
            order by id desc limit ${among}) as sessions`,
          where: sql`sessions.turn_count = 0 and sessions.deleting_at is null order by sessions.id desc`
        }),
        (rows) => rows.map(toHead)
      ),

    /** True for a session that works for another one. */
    isChild: (id: string): Effect.Effect<boolean> =>
      Effect.map(db.first(parentOf(id)), (row) => row !== undefined && row.parent !== null),

    /** The next sessions in the order of their ids, and those of them that are deleted. `last` is undefined after the end. */
    next: Effect.fnUntraced(function* (after: string, among: number) {
      const rows = yield* db.all(
        sql<{
          id: SessionId
          deleted: string | null
        }>`select id, deleting_at as deleted from sessions where id > ${after} order by id limit ${among}`
      )
      return {
        ids: rows.filter(({ deleted }) => deleted === null).map(({ id }) => id),
        gone: rows.filter(({ deleted }) => deleted !== null).map(({ id }) => id),
        last: rows.length < among ? undefined : rows.at(-1)?.id
      }
    })
  }
})

const toHead = ({ lineage, tree, ...row }: SessionRow): SessionHead => ({
  id: row.id,
  workspace_id: row.workspace_id,
  title: row.title,
  labels: row.labels,
  lifecycle: row.lifecycle,
  provider_id: row.provider_id,
  project: row.project,
  usage: row.usage,
  created_at: row.created_at,
  parent_session_id: lineage.parent_session_id,
  repository: tree.repository,
  event_watermark: row.event_watermark
})
