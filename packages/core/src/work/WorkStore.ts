import type { Fragment } from "@effect/sql/Statement"
import type { AccountId, SessionId, WorkspaceId } from "@reins/base/domain/Ids"
import type { Timestamp } from "@reins/base/domain/Timestamp"
import { Effect } from "effect"
import { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import { maxOrdinal } from "../store/Keyset.js"
import { isLoggedBetween } from "../store/WorkspaceLog.js"
import type { WorkState, WorkView } from "./Work.js"
import { type WorkFacts, workTypes } from "./WorkFacts.js"

/** Where the work of a session stands, as it is stored. */
export interface WorkRow {
  readonly session_id: SessionId
  readonly workspace_id: WorkspaceId
  readonly state: WorkState
  readonly view: WorkView
  readonly since: Timestamp
  /** The `seq` of the last event that it holds. */
  readonly seq: number
  /** The `seq` of the newest event that people want to know of; 0 before the first. */
  readonly news_seq: number
  /** The account that has caused that event; null for none. */
  readonly news_by: AccountId | null
  /** The `seq` of the newest such event that another has caused. */
  readonly other_seq: number
  /** A `WorkFacts` as JSON. */
  readonly facts: string
}

/** The rows of work. */
export const workStore = Effect.map(Database, (db) => {
  const { sql } = db
  const between = (before: number): Fragment =>
    isLoggedBetween(sql, { session: "work_rows.session_id", after: "work_rows.seq", before, types: workTypes })
  const byId = db.prepare(
    (id: string, before: number) => sql<WorkRow & { readonly missed: number }>`select work_rows.*,
      case when ${between(before)} then 1 else 0 end as missed from work_rows where session_id = ${id}`
  )
  const insert = db.prepareRow(
    (row) => sql`insert into work_rows ${sql.insert(row)} on conflict (session_id) do update set
      state = excluded.state, view = excluded.view, since = excluded.since, seq = excluded.seq,
      news_seq = excluded.news_seq, news_by = excluded.news_by, other_seq = excluded.other_seq, facts = excluded.facts`
  )
  return {
    /**
     * The row of a session. `missed` is 1 where it does not hold all events before one: an earlier release, which works beside this one, writes no
     * rows.
     */
    find: (id: string, before: number) => db.first(byId(id, before)),

    put: (row: WorkRow): Effect.Effect<void, never, Commit> => Effect.zipRight(Commit, db.run(insert({ ...row }))),

    /** Forgets sessions that are deleted, and who has seen them. */
    remove: (ids: ReadonlyArray<string>): Effect.Effect<void, never, Commit> =>
      Effect.zipRight(
        Commit,
        Effect.forEach(["work_rows", "seen_marks"], (table) =>
          db.run(sql`delete from ${sql.literal(table)} where ${sql.in("session_id", ids)}`)
        )
      ),

    /** Those of some sessions whose row is missing, or does not hold all of their events. */
    leftBehind: (ids: ReadonlyArray<SessionId>): Effect.Effect<ReadonlyArray<SessionId>> =>
      Effect.gen(function* () {
        if (ids.length === 0) return []
        const rows = yield* db.all(sql<{ id: SessionId; missed: number }>`select session_id as id,
          case when ${between(maxOrdinal)} then 1 else 0 end as missed
          from work_rows where ${sql.in("session_id", ids)}`)
        const whole = new Set(rows.filter(({ missed }) => Number(missed) === 0).map(({ id }) => id))
        return ids.filter((id) => !whole.has(id))
      })
  }
})

/** The facts of a row. */
export const factsOf = ({ facts }: Pick<WorkRow, "facts">): WorkFacts => JSON.parse(facts)
