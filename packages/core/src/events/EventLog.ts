import { Context, Effect, Layer, Schema } from "effect"
import type { EventPage } from "../api/SessionsApi.js"
import { Event } from "../domain/Event.js"
import type { Principal } from "../domain/Principal.js"
import { notFound, ReinsError } from "../domain/ReinsError.js"
import { Access } from "../identity/Access.js"
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
    /** The `seq` of the newest event of a session that the principal may read, and a check of its cursor. */
    readonly open: (principal: Principal, sessionId: string, after: number) => Effect.Effect<number, ReinsError>
    /** At most `limit` events of any kind after a cursor, for readers that have opened the session. */
    readonly read: (sessionId: string, after: number, limit: number) => Effect.Effect<ReadonlyArray<StoredEvent>>
  }
>() {
  static readonly layer = Layer.effect(
    EventLog,
    Effect.gen(function* () {
      const db = yield* Database
      const { sql } = db
      const access = yield* Access

      const open = Effect.fn("EventLog.open")(function* (principal: Principal, sessionId: string, after: number) {
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

      return EventLog.of({
        open,
        read: (sessionId, after, limit) =>
          db.all(sql<StoredEvent>`select seq, type, turn_id, envelope from events
          where session_id = ${sessionId} and seq > ${after} order by seq limit ${limit}`),
        page: Effect.fn("EventLog.page")(function* (principal, sessionId, { after = 0, limit, turnId, types }) {
          const watermark = yield* open(principal, sessionId, after)
          const wanted = sql.and([
            sql`session_id = ${sessionId}`,
            sql`seq > ${after}`,
            ...(types === undefined ? [] : [sql.in("type", [...types])]),
            ...(turnId === undefined ? [] : [sql`turn_id = ${turnId}`])
          ])
          const rows = yield* db.all(sql<StoredEvent>`select seq, type, turn_id, envelope from events
          where ${wanted} order by seq limit ${limit + 1}`)
          const shown = rows.slice(0, limit)
          const has_more = rows.length > limit
          const last = shown.at(-1)?.seq ?? after
          return {
            items: yield* Effect.forEach(shown, (row) => Effect.orDie(parseEvent(row.envelope))),
            next_after: has_more ? last : Math.max(last, watermark),
            has_more,
            event_watermark: Math.max(last, watermark)
          }
        })
      })
    })
  )
}

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
