import type { Statement } from "@effect/sql"
import { isListed } from "@reins/base/domain/Event"
import type { WorkspaceId } from "@reins/base/domain/Ids"
import type { Timestamp } from "@reins/base/domain/Timestamp"
import { Effect } from "effect"
import type { Commit } from "./Commit.js"
import { Database } from "./Database.js"
import { cut, type LogEntry, type Slice, type SliceLimit, type Slicing, sliceOf } from "./Slices.js"

/** An event of a workspace. Its `seq` is its position in the workspace, and its envelope has the `seq` of its session. */
export interface WorkspaceEntry extends LogEntry {
  readonly session_id: string
  /** The project of its session. */
  readonly project_id: string | null
  /** The labels of its session as they are now, as JSON. */
  readonly labels: string
}

/** Picks some events of a workspace. A field that is undefined picks all. A `session.deleted` is of every project and has every label. */
export interface WorkspaceFilter {
  readonly types?: ReadonlySet<string> | undefined
  /** Only events of the sessions of this project. */
  readonly projectId?: string | undefined
  /**
   * Only events of sessions that have this label now. A `session.updated` is picked whatever the labels are, because it may tell that a
   * session has taken the label or lost it.
   */
  readonly label?: Label | undefined
}

export interface Label {
  readonly name: string
  readonly value: string
}

/** The ends of the log of a workspace: the first position that is kept, and the newest one. */
export interface WorkspaceEnds {
  readonly first_position: number
  readonly head: number
}

/** A row of the log of a session that may be one of its workspace. */
export interface LoggedRow {
  readonly session_id: string
  readonly seq: number
  readonly type: string
}

/** True when the filter picks the event. `WorkspaceLog.slice` says the same in SQL. */
export const isWanted = ({ label, projectId, types }: WorkspaceFilter, entry: WorkspaceEntry): boolean =>
  (types === undefined || types.has(entry.type)) &&
  (entry.type === deletion ||
    ((projectId === undefined || entry.project_id === projectId) &&
      (label === undefined || entry.type === relabelEvent || JSON.parse(entry.labels)[label.name] === label.value)))

const relabelEvent = "session.updated"
const deletion = "session.deleted"

/**
 * The log of workspaces as it is stored: positions for some events of their sessions. A position is never seen before a lower one. On SQLite
 * writers take turns, so an event has its position from the start. On PostgreSQL commits become visible in another order than they began, so an
 * event is written without a position, and `number` gives positions to what is committed. No writer waits for another one because of that.
 */
export const make = Effect.map(Database, (db) => {
  const { sql } = db
  const numbersLater = isNumberedLater(db)

  const insert = db.prepareRow((row) => sql`insert into workspace_events ${sql.insert(row)}`)
  const raise = db.prepare(
    (workspaceId: string, count: number) => sql<{ head: number }>`insert into workspace_logs
      (workspace_id, head, first_position) values (${workspaceId}, ${count}, 1)
      on conflict (workspace_id) do update set head = workspace_logs.head + excluded.head returning head`
  )
  const ends = db.prepare(
    (workspaceId: string) => sql<WorkspaceEnds>`select head, first_position from workspace_logs
      where workspace_id = ${workspaceId}`
  )
  const sliceOfAll = db.prepare((workspaceId: string, after: number, events: number, bytes: number) =>
    sliceOf<WorkspaceEntry>(sql, wantedOf(db, workspaceId, after, {}, { events, bytes }))
  )

  return {
    /** Adds those of the events of a session that belong to the log. True when there are any. */
    add: Effect.fnUntraced(function* (
      workspaceId: WorkspaceId,
      rows: ReadonlyArray<LoggedRow>,
      recordedAt: Timestamp
    ): Effect.fn.Return<boolean, never, Commit> {
      const wanted = rows.filter(({ type }) => isListed(type))
      if (wanted.length === 0) return false
      const head = numbersLater ? undefined : (yield* db.first(raise(workspaceId, wanted.length)))?.head
      const before = head === undefined ? undefined : head - wanted.length
      for (const [index, { seq, session_id, type }] of wanted.entries())
        yield* db.run(
          insert({
            workspace_id: workspaceId,
            position: before === undefined ? null : before + index + 1,
            session_id,
            seq,
            type,
            recorded_at: recordedAt
          })
        )
      return true
    }),

    ...makeNumber(db),
    ...makeKeep(db),

    endsOf: (workspaceId: string): Effect.Effect<WorkspaceEnds> =>
      Effect.map(db.first(ends(workspaceId)), (row) => row ?? { head: 0, first_position: 1 }),

    /** The events after a position that the filter picks, in their order. */
    slice: (
      workspaceId: string,
      after: number,
      filter: WorkspaceFilter,
      most: SliceLimit
    ): Effect.Effect<Slice<WorkspaceEntry>> => {
      const isOfAll = filter.label === undefined && filter.projectId === undefined && filter.types === undefined
      const wanted = () => wantedOf(db, workspaceId, after, filter, most)
      return isOfAll
        ? cut<WorkspaceEntry>(db, wanted, sliceOfAll(workspaceId, after, most.events, most.bytes))
        : cut<WorkspaceEntry>(db, wanted)
    }
  }
})

export type WorkspaceLog = Effect.Effect.Success<typeof make>

/** True where an event is written without its position. */
const isNumberedLater = ({ dialect }: Database["Type"]): boolean => dialect === "pg"

/** Gives positions to events that were written without. */
const makeNumber = (db: Database["Type"]) => {
  const { sql } = db
  const numbersLater = isNumberedLater(db)
  const unnumbered = db.prepare(
    (workspaceId: string) => sql<{ found: number }>`select 1 as found from workspace_events
      where workspace_id = ${workspaceId} and position is null limit 1`
  )
  return {
    /** True when committed events wait for their positions. */
    hasUnnumbered: (workspaceId: string): Effect.Effect<boolean> =>
      numbersLater ? Effect.map(db.first(unnumbered(workspaceId)), (row) => row !== undefined) : Effect.succeed(false),

    /** The workspaces with events that wait for their positions. */
    unnumbered: Effect.suspend(() =>
      numbersLater
        ? db.all(sql<{ workspace_id: WorkspaceId }>`select distinct workspace_id from workspace_events
            where position is null`)
        : Effect.succeed([])
    ),

    /** Gives positions to the events that wait: by session in the order of `seq`, and among sessions by time. */
    number: Effect.fnUntraced(function* (workspaceId: string): Effect.fn.Return<void, never, Commit> {
      yield* db.run(sql`insert into workspace_logs (workspace_id, head, first_position) values (${workspaceId}, 0, 1)
        on conflict do nothing`)
      // A statement sees the numbers of others only when it begins once the row is locked.
      const locked = yield* db.first(sql<{ head: number }>`select head from workspace_logs
        where workspace_id = ${workspaceId}${db.forUpdate}`)
      yield* db.run(sql`with waiting as (
          select session_id, seq, row_number() over (order by latest, session_id, seq) as place from (
            select session_id, seq, max(recorded_at) over (partition by session_id order by seq) as latest
            from workspace_events where workspace_id = ${workspaceId} and position is null
          ) as timed
        ), numbered as (
          update workspace_events set position = cast(${locked?.head ?? 0} as integer) + waiting.place from waiting
          where workspace_events.session_id = waiting.session_id and workspace_events.seq = waiting.seq returning 1
        ) update workspace_logs set head = head + (select count(*) from numbered) where workspace_id = ${workspaceId}`)
    })
  }
}

/** Deletes what is kept no longer. */
const makeKeep = (db: Database["Type"]) => {
  const { sql } = db
  return {
    /** The workspaces whose oldest kept event is from before a time. */
    keptFromBefore: (time: Timestamp): Effect.Effect<ReadonlyArray<{ readonly workspace_id: WorkspaceId }>> =>
      db.all(sql<{ workspace_id: WorkspaceId }>`select workspace_logs.workspace_id from workspace_logs
        join workspace_events on workspace_events.workspace_id = workspace_logs.workspace_id
          and workspace_events.position = (select min(kept.position) from workspace_events as kept
            where kept.workspace_id = workspace_logs.workspace_id and kept.position >= workspace_logs.first_position)
        where workspace_events.recorded_at < ${time}`),

    /** Deletes the events of a workspace up to the first one that is from after a time. */
    forget: Effect.fnUntraced(function* (
      workspaceId: string,
      before: Timestamp
    ): Effect.fn.Return<void, never, Commit> {
      const kept = yield* db.first(sql<{ position: number }>`select position from workspace_events
        where workspace_id = ${workspaceId} and position is not null and recorded_at >= ${before}
        order by position limit 1`)
      const logs = yield* db.first(sql<{ first_position: number }>`update workspace_logs
        set first_position = coalesce(${kept?.position ?? null}, head + 1) where workspace_id = ${workspaceId}
        returning first_position`)
      yield* db.run(sql`delete from workspace_events where workspace_id = ${workspaceId}
        and position < ${logs?.first_position ?? 0}`)
    })
  }
}

const wantedOf = (
  db: Database["Type"],
  workspaceId: string,
  after: number,
  { label, projectId, types }: WorkspaceFilter,
  { bytes, events }: SliceLimit
): Slicing => {
  const { sql } = db
  const conditions: ReadonlyArray<Statement.Fragment> = [
    sql`workspace_events.workspace_id = ${workspaceId}`,
    sql`workspace_events.position > ${after}`,
    sql`events.session_id = workspace_events.session_id`,
    sql`events.seq = workspace_events.seq`,
    ...(types === undefined ? [] : [sql.in("workspace_events.type", [...types])]),
    ...(projectId === undefined ? [] : [sql`(${isDeletion(sql)} or sessions.project_id = ${projectId})`]),
    ...(label === undefined
      ? []
      : [sql`(${isDeletion(sql)} or workspace_events.type = ${relabelEvent} or ${hasLabel(db, label)})`])
  ]
  const columns = "seq, type, session_id, envelope, project_id, labels"
  return {
    columns,
    // The order of a cross join is kept by SQLite, which walks the positions first.
    from: sql`select workspace_events.position as seq, workspace_events.type, workspace_events.session_id, events.envelope,
      sessions.project_id, coalesce(sessions.labels, '{}') as labels
      from workspace_events cross join events left join sessions on sessions.id = workspace_events.session_id
      where ${sql.and(conditions)}`,
    events,
    bytes
  }
}

const isDeletion = (sql: Database["Type"]["sql"]) => sql`workspace_events.type = ${deletion}`

/** A condition on types of events: some by their names, others by a prefix that ends with a point. */
export const isOfTypes = (
  sql: Database["Type"]["sql"],
  column: string,
  types: ReadonlyArray<string>
): Statement.Fragment =>
  sql.or(
    types.map((type) =>
      type.endsWith(".") ? sql`${sql.literal(column)} like ${`${type}%`}` : sql`${sql.literal(column)} = ${type}`
    )
  )

/** A condition: the log has an event of some types between two of a session. `session` and `after` are columns of the statement that asks. */
export const isLoggedBetween = (
  sql: Database["Type"]["sql"],
  {
    after,
    before,
    session,
    types
  }: {
    readonly session: string
    readonly after: string
    readonly before: number
    readonly types: ReadonlyArray<string>
  }
): Statement.Fragment =>
  sql`exists (select 1 from workspace_events where workspace_events.session_id = ${sql.literal(session)}
    and workspace_events.seq > ${sql.literal(after)} and workspace_events.seq < ${before}
    and ${isOfTypes(sql, "workspace_events.type", types)})`

/** A condition: the session has the label now. */
const hasLabel = ({ dialect, sql }: Database["Type"], { name, value }: Label): Statement.Fragment =>
  dialect === "pg"
    ? sql`cast(sessions.labels as jsonb) ->> ${name} = ${value}`
    : sql`exists (select 1 from json_each(sessions.labels) as label where label.key = ${name} and label.value = ${value})`
