import type { Statement } from "@effect/sql"
import { Context, Effect, Layer, Schema } from "effect"
import { Access } from "../access/Access.js"
import type { EventPage } from "../api/SessionsApi.js"
import { fn } from "../base/Traced.js"
import { Event } from "../domain/Event.js"
import type { Principal } from "../domain/Principal.js"
import { notFound, ReinsError } from "../domain/ReinsError.js"
import { Database } from "../store/Database.js"
import type { EventTypes } from "./EventTypes.js"

/** What a reader wants of the events of a session. */
export interface EventFilter {
  /** Every type when undefined. */
  readonly types?: EventTypes | undefined
  /** Only the events of this turn. */
  readonly turnId?: string | undefined
}

export interface EventPageRequest extends EventFilter {
  /** The `seq` to read on from, exclusive; the beginning when undefined. */
  readonly after?: number | undefined
  /** The most events on the page. */
  readonly limit: number
}

/** An event as it is stored: its envelope is the JSON text that readers get. */
export interface StoredEvent {
  readonly seq: number
  readonly type: string
  readonly turn_id: string | null
  readonly envelope: string
}

/** A page whose events are the JSON texts that readers get. */
export type StoredPage = Omit<EventPage, "items"> & { readonly envelopes: ReadonlyArray<string> }

/** Some of the events after a cursor. `isWhole` says that these were all that there were. */
export interface EventSlice {
  readonly events: ReadonlyArray<StoredEvent>
  readonly isWhole: boolean
}

/** Reads the durable log of sessions, in ascending `seq` without gaps. */
export class EventLog extends Context.Tag("@reins/core/events/EventLog")<
  EventLog,
  {
    /**
     * The events after a cursor. `next_after` is where to read on, also beyond events that the filter left out. Fails with
     * `invalid_cursor` for a cursor that is negative or beyond the newest event, and with `history_reset_required` for one below what
     * is kept.
     */
    readonly page: (
      principal: Principal,
      sessionId: string,
      request: EventPageRequest
    ) => Effect.Effect<EventPage, ReinsError>
    /** `page` with the events as they are stored: JSON that is sent on as it is. */
    readonly storedPage: (
      principal: Principal,
      sessionId: string,
      request: EventPageRequest
    ) => Effect.Effect<StoredPage, ReinsError>
    /** The `seq` of the newest event of a session that the principal may read, and a check of its cursor. */
    readonly open: (principal: Principal, sessionId: string, after: number) => Effect.Effect<number, ReinsError>
    /**
     * At most `limit` events of any kind after a cursor, for readers that have opened the session. Of large ones fewer, but one at
     * least, so that no reader makes this process hold much.
     */
    readonly read: (sessionId: string, after: number, limit: number) => Effect.Effect<EventSlice>
  }
>() {
  static readonly layer = Layer.effect(
    EventLog,
    Effect.gen(function* () {
      const db = yield* Database
      const { sql } = db
      const access = yield* Access

      // Readers seldom want only some events, so that the text for all of them is made once.
      const sliceOfAll = db.prepare((sessionId: string, after: number, limit: number, bytes: number) =>
        sliceOf(sql, wantedOf(sql, sessionId, after, {}), limit, bytes)
      )

      const slice = Effect.fnUntraced(function* (
        sessionId: string,
        after: number,
        filter: EventFilter,
        limit: number,
        bytes: number
      ): Effect.fn.Return<EventSlice> {
        const isOfAll = filter.turnId === undefined && filter.types === undefined
        const wanted = () => wantedOf(sql, sessionId, after, filter)
        const small = yield* db.all(
          isOfAll ? sliceOfAll(sessionId, after, limit, bytes) : sliceOf(sql, wanted(), limit, bytes)
        )
        const events = small.length > 0 ? small : yield* db.all(largeSliceOf(sql, wanted(), limit, bytes))
        return { events, isWhole: events.length === (events[0]?.found ?? 0) }
      })

      const open = fn("EventLog.open")(function* (principal: Principal, sessionId: string, after: number) {
        const session = yield* db.first(sql<{ workspace_id: string; event_watermark: number; first_event_seq: number }>`
        select workspace_id, event_watermark, first_event_seq from sessions where id = ${sessionId}`)
        if (session === undefined) return yield* notFound()
        yield* access.read(principal, session.workspace_id)
        if (!Number.isSafeInteger(after) || after < 0 || after > session.event_watermark) {
          return yield* invalidCursor(after, session.event_watermark)
        }
        if (after < session.first_event_seq - 1) return yield* historyReset(after, session.first_event_seq)
        return session.event_watermark
      })

      const storedPage = fn("EventLog.page")(function* (
        principal: Principal,
        sessionId: string,
        { after = 0, limit, turnId, types }: EventPageRequest
      ) {
        const watermark = yield* open(principal, sessionId, after)
        const { events, isWhole } = yield* slice(sessionId, after, { turnId, types }, limit, maxPageBytes)
        // All of the history goes at once: that it went since it was looked for must not pass for nothing new.
        if (events.length === 0 && after < watermark) yield* open(principal, sessionId, after)
        const last = events.at(-1)?.seq ?? after
        return {
          envelopes: events.map((row) => row.envelope),
          next_after: isWhole ? Math.max(last, watermark) : last,
          has_more: !isWhole,
          event_watermark: Math.max(last, watermark)
        }
      })

      return EventLog.of({
        open,
        read: (sessionId, after, limit) => slice(sessionId, after, {}, limit, maxSliceBytes),
        storedPage,
        page: (principal, sessionId, request) =>
          Effect.flatMap(storedPage(principal, sessionId, request), ({ envelopes, ...rest }) =>
            Effect.map(Effect.orDie(Effect.forEach(envelopes, (envelope) => parseEvent(envelope))), (items) => ({
              items,
              ...rest
            }))
          )
      })
    })
  )
}

type Sql = Database["Type"]["sql"]
type SlicedEvent = StoredEvent & { readonly found: number }

/** Picks the events of a session after a cursor that a reader wants. */
export const wantedOf = (
  sql: Sql,
  sessionId: string,
  after: number,
  { turnId, types }: EventFilter
): Statement.Fragment =>
  sql.and([
    sql`session_id = ${sessionId}`,
    sql`seq > ${after}`,
    ...(types === undefined ? [] : [sql.in("type", [...types])]),
    ...(turnId === undefined ? [] : [sql`turn_id = ${turnId}`])
  ])

/**
 * The first wanted events in their order, unless they take more than `bytes`: then nothing. `found` tells how many there are, up to one
 * more than the limit.
 */
export const sliceOf = (sql: Sql, wanted: Statement.Fragment, limit: number, bytes: number) =>
  sql<SlicedEvent>`with first as (
      select seq, type, turn_id, envelope from events where ${wanted} order by seq limit ${limit} + 1
    ) select seq, type, turn_id, envelope, (select cast(count(*) as integer) from first) as found from first
    where (select sum(octet_length(envelope)) from first) <= ${bytes} order by seq limit ${limit}`

/** `sliceOf` for events that take more: no more of them once those before take `bytes`. It costs three times as much. */
const largeSliceOf = (sql: Sql, wanted: Statement.Fragment, limit: number, bytes: number) =>
  sql<SlicedEvent>`select seq, type, turn_id, envelope, found from (
    select seq, type, turn_id, envelope, cast(count(*) over () as integer) as found,
      sum(octet_length(envelope)) over (order by seq rows unbounded preceding) - octet_length(envelope) as preceding
    from (select seq, type, turn_id, envelope from events where ${wanted} order by seq limit ${limit} + 1) as first
  ) as measured where preceding < ${bytes} order by seq limit ${limit}`

/** What a reader that catches up is given at once. */
const maxSliceBytes = 512 * 1024

/** The size of a page, however many events were asked for. */
const maxPageBytes = 8 * 1024 * 1024

const parseEvent = Schema.decodeUnknown(Schema.parseJson(Event))

const historyReset = (after: number, first: number) =>
  new ReinsError({
    code: "history_reset_required",
    message:
      `The events of this session before ${first} are no longer kept. Read its present state from the resources themselves, ` +
      `and go on with after=${first - 1}.`,
    details: { after, first_event_seq: first, next_after: first - 1 }
  })

const invalidCursor = (after: number, watermark: number) =>
  new ReinsError({
    code: "invalid_cursor",
    message: `There is no event ${after} in this session: its newest is ${watermark}. Read on from a next_after that it gave.`,
    details: { after, event_watermark: watermark }
  })
