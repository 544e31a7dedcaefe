import type { Fragment } from "@effect/sql/Statement"
import type { AccountId, SessionId } from "@reins/base/domain/Ids"
import { Effect } from "effect"
import { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import type { WorkView } from "./Work.js"
import type { WorkRow } from "./WorkStore.js"

/** A row as one account sees it. */
export interface SeenRow extends WorkRow {
  readonly unread: boolean
}

/** The place in a list behind which a page begins. */
export interface WorkPlace {
  readonly since: string
  readonly session_id: string
}

/** The most sessions that are looked at for what is new. */
export const mostLooked = 1_000
const mostUnread = 100

/** The rows of work as accounts see them. */
export const workLists = Effect.map(Database, (db) => {
  const { sql } = db
  const unread = (accountId: AccountId): Fragment =>
    sql`case when work_rows.news_by = ${accountId} then other_seq else news_seq end > coalesce(seen_marks.seq, 0)`
  const marked = (accountId: AccountId): Fragment =>
    sql`left join seen_marks on seen_marks.account_id = ${accountId} and seen_marks.session_id = work_rows.session_id`
  const seenRows = (accountId: AccountId, from: Fragment, where: Fragment) =>
    Effect.map(
      db.all(sql<WorkRow & { readonly is_unread: number }>`select work_rows.*,
        case when ${unread(accountId)} then 1 else 0 end as is_unread
        from ${from} ${marked(accountId)} where ${where}`),
      (rows) => rows.map(({ is_unread, ...row }): SeenRow => ({ ...row, unread: Number(is_unread) === 1 }))
    )
  const table = sql.literal("work_rows")
  const shown = (workspaceId: string) =>
    sql`(select * from work_rows where workspace_id = ${workspaceId} and view <> 'archived'
      order by since desc, session_id desc limit ${mostLooked}) as work_rows`
  const behind = ({ session_id, since }: WorkPlace): Fragment =>
    sql`(since < ${since} or (since = ${since} and work_rows.session_id < ${session_id}))`
  const ordered = (limit: number): Fragment => sql`order by since desc, work_rows.session_id desc limit ${limit}`

  return {
    /** The sessions of a view behind a place, newest first. */
    ofView: (accountId: AccountId, workspaceId: string, view: WorkView, place: WorkPlace, limit: number) =>
      seenRows(
        accountId,
        table,
        sql`workspace_id = ${workspaceId} and view = ${view} and ${behind(place)} ${ordered(limit)}`
      ),

    /** Those of all views but the archived ones. */
    shown: (accountId: AccountId, workspaceId: string, place: WorkPlace, limit: number) =>
      seenRows(
        accountId,
        table,
        sql`workspace_id = ${workspaceId} and view <> 'archived' and ${behind(place)} ${ordered(limit)}`
      ),

    /** Those of the newest ones that are new to an account. */
    unread: (accountId: AccountId, workspaceId: string, place: WorkPlace, limit: number) =>
      seenRows(accountId, shown(workspaceId), sql`${unread(accountId)} and ${behind(place)} ${ordered(limit)}`),

    /** Those with these ids. */
    some: (accountId: AccountId, workspaceId: string, ids: ReadonlyArray<string>) =>
      seenRows(
        accountId,
        table,
        sql`workspace_id = ${workspaceId} and ${sql.in("work_rows.session_id", ids)} ${ordered(ids.length)}`
      ),

    /** Those of some sessions that have a row. */
    having: (ids: ReadonlyArray<string>): Effect.Effect<ReadonlySet<string>> =>
      ids.length === 0
        ? Effect.succeed(new Set())
        : Effect.map(
            db.all(sql<{ id: string }>`select session_id as id from work_rows where ${sql.in("session_id", ids)}`),
            (rows) => new Set(rows.map(({ id }) => id))
          ),

    /** The numbers of the views that wait and work, and of what is new to an account. */
    counts: Effect.fnUntraced(function* (accountId: AccountId, workspaceId: string) {
      const views = yield* db.all(sql<{ view: WorkView; count: number }>`select view, cast(count(*) as integer) as count
        from work_rows where workspace_id = ${workspaceId} and view in ('waiting', 'working') group by view`)
      const news = yield* db.first(sql<{ count: number }>`select cast(count(*) as integer) as count
        from (select 1 as one from ${shown(workspaceId)} ${marked(accountId)} where ${unread(accountId)}
          limit ${mostUnread}) as found`)
      const of = (wanted: WorkView) => views.find(({ view }) => view === wanted)?.count ?? 0
      return { waiting: of("waiting"), working: of("working"), unread: news?.count ?? 0 }
    })
  }
})

/** Marks of accounts, up to which they have seen sessions. */
export const seenMarks = Effect.map(Database, (db) => {
  const { sql } = db
  return {
    /** The `seq` up to which an account has seen a session; undefined where it has not. */
    seenBy: (accountId: AccountId, sessionId: string) =>
      Effect.map(
        db.first(sql<{ seq: number }>`select seq from seen_marks
          where account_id = ${accountId} and session_id = ${sessionId}`),
        (row) => row?.seq
      ),

    /** Moves a mark forward. It never goes back. */
    see: (accountId: AccountId, sessionId: SessionId, seq: number): Effect.Effect<void, never, Commit> =>
      Effect.zipRight(
        Commit,
        db.run(sql`insert into seen_marks ${sql.insert({ account_id: accountId, session_id: sessionId, seq })}
          on conflict (account_id, session_id) do update set
            seq = case when excluded.seq > seen_marks.seq then excluded.seq else seen_marks.seq end`)
      ),

    unsee: (accountId: AccountId, sessionId: SessionId): Effect.Effect<void, never, Commit> =>
      Effect.zipRight(
        Commit,
        db.run(sql`delete from seen_marks where account_id = ${accountId} and session_id = ${sessionId}`)
      )
  }
})
