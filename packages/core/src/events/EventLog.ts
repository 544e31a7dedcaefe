import { fn } from "@reins/base/base/Traced"
import { Event } from "@reins/base/domain/Event"
import type { Principal } from "@reins/base/domain/Principal"
import { notFound, ReinsError } from "@reins/base/domain/ReinsError"
import { Context, Effect, Layer, Schema } from "effect"
import { Access } from "../access/Access.js"
import * as SessionLog from "../store/SessionLog.js"
import type { Slice } from "../store/Slices.js"
import type { EventPage } from "./EventsApi.js"

export interface EventPageRequest extends SessionLog.LogFilter {
  /** The `seq` to read on from, exclusive; the beginning when undefined. */
  readonly after?: number | undefined
  /** The most events on the page. */
  readonly limit: number
}

/** A page whose events are one text: the JSON of each, with commas between them. */
export type StoredPage = Omit<EventPage, "items"> & { readonly items: string }

/** The refusal of a reader: it may not see the session, or the log cannot be read from its cursor. */
export type Unreadable = ReinsError<"not_found" | "invalid_cursor" | "history_reset_required">

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
    ) => Effect.Effect<EventPage, Unreadable>
    /** `page` with the events as they are stored: JSON that is sent on as it is. */
    readonly storedPage: (
      principal: Principal,
      sessionId: string,
      request: EventPageRequest
    ) => Effect.Effect<StoredPage, Unreadable>
    /** The `seq` of the newest event of a session that the principal may read, and a check of its cursor. */
    readonly open: (principal: Principal, sessionId: string, after: number) => Effect.Effect<number, Unreadable>
    /**
     * At most `limit` events after a cursor, of any kind and turn or of one turn, for readers that have opened the session. Of large ones fewer, but one at
     * least, so that no reader makes this process hold much.
     */
    readonly read: (
      sessionId: string,
      after: number,
      limit: number,
      turnId?: string
    ) => Effect.Effect<Slice<SessionLog.StoredEvent>>
  }
>() {
  static readonly layer = Layer.effect(
    EventLog,
    Effect.gen(function* () {
      const log = yield* SessionLog.make
      const access = yield* Access

      const open = fn("EventLog.open")(function* (principal: Principal, sessionId: string, after: number) {
        const session = yield* log.endsOf(sessionId)
        if (session === undefined) return yield* notFound()
        yield* access.readWithin(principal, session.workspace_id, [sessionId])
        yield* checkCursor("session", after, session.first_event_seq, session.event_watermark)
        return session.event_watermark
      })

      const itemsOf = Effect.fnUntraced(function* (
        sessionId: string,
        after: number,
        filter: SessionLog.LogFilter,
        limit: number,
        watermark: number
      ) {
        const most = { events: limit, bytes: maxPageBytes }
        const isOfAll = filter.turnId === undefined && filter.types === undefined
        const found = isOfAll ? yield* log.text(sessionId, after, most) : undefined
        if (found !== undefined) {
          const last = found.last ?? after
          return { items: found.text ?? "", last, isWhole: found.count < limit || last >= watermark }
        }
        const { events, isWhole } = yield* log.slice(sessionId, after, filter, most)
        return { items: events.map((row) => row.envelope).join(","), last: events.at(-1)?.seq ?? after, isWhole }
      })

      const storedPage = fn("EventLog.page")(function* (
        principal: Principal,
        sessionId: string,
        { after = 0, limit, turnId, types }: EventPageRequest
      ) {
        const watermark = yield* open(principal, sessionId, after)
        const { isWhole, items, last } = yield* itemsOf(sessionId, after, { turnId, types }, limit, watermark)
        // All of the history goes at once. If it went after the look at the cursor, an empty page must not pass for nothing new.
        if (items === "" && after < watermark) yield* open(principal, sessionId, after)
        return {
          items,
          next_after: isWhole ? Math.max(last, watermark) : last,
          has_more: !isWhole,
          event_watermark: Math.max(last, watermark)
        }
      })

      return EventLog.of({
        open,
        read: (sessionId, after, limit, turnId) =>
          log.slice(sessionId, after, { turnId }, { events: limit, bytes: maxSliceBytes }),
        storedPage,
        page: (principal, sessionId, request) =>
          Effect.flatMap(storedPage(principal, sessionId, request), ({ items, ...rest }) =>
            Effect.map(Effect.orDie(parseEvents(`[${items}]`)), (events) => ({ items: events, ...rest }))
          )
      })
    })
  )
}

/** The size of the events that a reader gets at once while it catches up. */
export const maxSliceBytes = 512 * 1024

/** The size of a page, however many events were asked for. */
export const maxPageBytes = 8 * 1024 * 1024

const parseEvents = Schema.decodeUnknown(Schema.parseJson(Schema.Array(Event)))

type Log = "session" | "workspace"

/** Refuses a cursor that no event of the log can have had, and one below the first event that is kept. */
export const checkCursor = (
  log: Log,
  after: number,
  first: number,
  newest: number
): Effect.Effect<void, ReinsError<"invalid_cursor" | "history_reset_required">> =>
  Effect.suspend((): Effect.Effect<void, ReinsError<"invalid_cursor" | "history_reset_required">> => {
    if (!Number.isSafeInteger(after) || after < 0 || after > newest)
      return Effect.fail(invalidCursor(log, after, newest))
    return after < first - 1 ? Effect.fail(historyReset(log, after, first)) : Effect.void
  })

const historyReset = (log: Log, after: number, first: number) =>
  new ReinsError({
    code: "history_reset_required",
    message:
      `The events of this ${log} before ${first} are no longer kept. Read its present state from the resources themselves, ` +
      `and go on with after=${first - 1}.`,
    details: { after, first_event_seq: first, next_after: first - 1 }
  })

const invalidCursor = (log: Log, after: number, watermark: number) =>
  new ReinsError({
    code: "invalid_cursor",
    message: `There is no event ${after} in this ${log}: its newest is ${watermark}. Read on from a next_after that it gave.`,
    details: { after, event_watermark: watermark }
  })
