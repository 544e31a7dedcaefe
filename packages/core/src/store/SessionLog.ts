import type { Statement } from "@effect/sql"
import type { SessionId } from "@reins/base/domain/Ids"
import type { Timestamp } from "@reins/base/domain/Timestamp"
import { Effect } from "effect"
import { Commit, type HeldSession } from "./Commit.js"
import { Database } from "./Database.js"
import { cut, type Slice, type SliceLimit, type Slicing, sliceOf } from "./Slices.js"
import { isOfTypes } from "./WorkspaceLog.js"

/** A row of the log. */
export type EventRow = {
  readonly session_id: SessionId
  readonly seq: number
  readonly type: string
  readonly turn_id: string | null
  readonly envelope: string
}

/** An event as readers get it. Its envelope is the JSON text that goes over the wire. */
export type StoredEvent = Omit<EventRow, "session_id">

/** Picks some events of a session. */
export interface LogFilter {
  /** Every type when undefined. */
  readonly types?: ReadonlySet<string> | undefined
  /** Only the events of this turn. */
  readonly turnId?: string | undefined
}

/** Events of a session as one text: their envelopes in ascending `seq`, with commas between them. */
export interface EventText {
  /** Null without events. */
  readonly text: string | null
  readonly count: number
  /** The `seq` of the last event; null without events. */
  readonly last: number | null
}

/** The ends of the log of a session: the first `seq` that is kept, and the newest. */
export interface LogEnds {
  readonly workspace_id: string
  readonly first_event_seq: number
  readonly event_watermark: number
}

/** A closed session whose events are still kept, with the envelope of the newest one. */
export interface ClosedLog {
  readonly id: SessionId
  readonly event_watermark: number
  readonly envelope: string
}

/**
 * The log of sessions as it is stored. The log is the table `events`, and the columns `event_watermark`, `first_event_seq`, `has_events` and
 * `message_count` of `sessions`. A session that is being deleted has no log for readers. They stand in the row of the session because every append needs one lock of that row and no second one. This
 * file alone names both, and writes no other column of `sessions`; `Journal` appends by it, and the room `events` reads and purges by it.
 */
export const make = Effect.map(Database, (db) => {
  const { sql } = db
  const insertEvent = db.prepareRow((row) => sql`insert into events ${sql.insert(row)}`)
  // Readers seldom want only some events, so the text for all of them is made once.
  const sliceOfAll = db.prepare((sessionId: string, after: number, limit: number, bytes: number) =>
    sliceOf<StoredEvent>(sql, eventsWanted(sql, wantedOf(sql, sessionId, after, {}), { events: limit, bytes }))
  )
  const textOfAll = db.prepare(
    (sessionId: string, after: number, limit: number, most: number) => sql<EventText & { readonly large: number }>`
      select string_agg(case when octet_length(envelope) <= ${most} then envelope end, ',') as text, max(seq) as last,
        cast(count(*) as integer) as count,
        cast(coalesce(sum(case when octet_length(envelope) > ${most} then 1 else 0 end), 0) as integer) as large
      from (select seq, envelope from events where session_id = ${sessionId} and seq > ${after} order by seq limit ${limit}) as page`
  )
  return {
    /**
     * The first events of any type after a cursor, at most so many. Undefined where an event is larger than its share of the bytes. The database
     * makes one text of them in a quarter of the time that their rows would take.
     */
    text: Effect.fnUntraced(function* (
      sessionId: string,
      after: number,
      { bytes, events }: SliceLimit
    ): Effect.fn.Return<EventText | undefined> {
      const found = yield* db.first(textOfAll(sessionId, after, events, Math.floor(bytes / events)))
      return found === undefined || found.large > 0 ? undefined : found
    }),

    /** Adds to the counts of a session, keeps other writers from its row, and gives back the session after that. */
    raise: db.prepare(
      (events: number, messages: number, id: string) => sql<HeldSession>`update sessions set
        event_watermark = event_watermark + ${events}, message_count = message_count + ${messages}, has_events = 1
        where id = ${id} returning event_watermark, message_count, workspace_id`
    ),

    insert: (rows: Array<EventRow>): Effect.Effect<void> => {
      const [row, ...more] = rows
      if (row === undefined) return Effect.void
      return db.run(more.length === 0 ? insertEvent(row) : sql`insert into events ${sql.insert(rows)}`)
    },

    /** Undefined for a session that does not exist. */
    endsOf: (sessionId: string): Effect.Effect<LogEnds | undefined> =>
      db.first(
        sql<LogEnds>`select workspace_id, event_watermark, first_event_seq from sessions
          where id = ${sessionId} and deleting_at is null`
      ),

    /**
     * The events after a cursor that the filter picks, in ascending `seq`: at most so many, and no more of them once those before take so
     * many bytes.
     */
    slice: Effect.fnUntraced(function* (
      sessionId: string,
      after: number,
      filter: LogFilter,
      most: SliceLimit
    ): Effect.fn.Return<Slice<StoredEvent>> {
      const isOfAll = filter.turnId === undefined && filter.types === undefined
      const wanted = () => eventsWanted(sql, wantedOf(sql, sessionId, after, filter), most)
      return yield* isOfAll
        ? cut<StoredEvent>(db, wanted, sliceOfAll(sessionId, after, most.events, most.bytes))
        : cut<StoredEvent>(db, wanted)
    }),

    /** The first events of some types after one, at most so many. A type that ends with a point stands for all that begin with it. */
    ofTypes: (sessionId: string, after: number, types: ReadonlyArray<string>, limit: number) =>
      db.all(sql<{ readonly envelope: string }>`select envelope from events
        where session_id = ${sessionId} and seq > ${after} and ${isOfTypes(sql, "type", types)} order by seq limit ${limit}`),

    /** Closed sessions with events, in the order of their ids. */
    closedAfter: (id: string, limit: number): Effect.Effect<ReadonlyArray<ClosedLog>> =>
      db.all(sql<ClosedLog>`select s.id, s.event_watermark, e.envelope from sessions s
        join events e on e.session_id = s.id and e.seq = s.event_watermark
        where s.lifecycle = 'closed' and s.has_events = 1 and s.id > ${id}
        order by s.id limit ${limit}`),

    /** Deletes all events of a session whose newest is the given one. It deletes none when an event was appended meanwhile. */
    forget: Effect.fnUntraced(function* (id: string, last: number) {
      const session = yield* db.first(
        sql<{ id: string }>`update sessions set first_event_seq = ${last + 1}, has_events = 0
          where id = ${id} and event_watermark = ${last} returning id`
      )
      if (session !== undefined) yield* db.run(sql`delete from events where session_id = ${id} and seq <= ${last}`)
    }),

    /** Deletes some of the events that tell of the deletion of a session, at most `limit`, where it was asked for before a time. Gives their number. */
    forgetDeleted: (before: Timestamp, limit: number): Effect.Effect<number, never, Commit> =>
      Effect.zipRight(
        Commit,
        Effect.map(
          db.all(sql`delete from events where session_id in (
              select session_deletions.session_id from session_deletions
              join events as kept on kept.session_id = session_deletions.session_id
              where session_deletions.state = 'deleted' and session_deletions.requested_at < ${before} limit ${limit}
            ) returning 1 as forgotten`),
          (rows) => rows.length
        )
      )
  }
})

export type SessionLog = Effect.Effect.Success<typeof make>

type Sql = Database["Type"]["sql"]

/** Picks the events of a session after a cursor that a reader wants. */
export const wantedOf = (
  sql: Sql,
  sessionId: string,
  after: number,
  { turnId, types }: LogFilter
): Statement.Fragment =>
  sql.and([
    sql`session_id = ${sessionId}`,
    sql`seq > ${after}`,
    ...(types === undefined ? [] : [sql.in("type", [...types])]),
    ...(turnId === undefined ? [] : [sql`turn_id = ${turnId}`])
  ])

/** The events that a condition picks. */
export const eventsWanted = (sql: Sql, wanted: Statement.Fragment, { bytes, events }: SliceLimit): Slicing => ({
  columns: "seq, type, turn_id, envelope",
  from: sql`select seq, type, turn_id, envelope from events where ${wanted}`,
  events,
  bytes
})
