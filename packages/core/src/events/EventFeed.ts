import { fn } from "@reins/base/base/Traced"
import { Event } from "@reins/base/domain/Event"
import type { MessageDelta } from "@reins/base/domain/MessageDelta"
import type { Principal } from "@reins/base/domain/Principal"
import { Context, Effect, Layer, Schema, Stream } from "effect"
import { sessionTopic } from "../store/Bell.js"
import type { LogFilter, StoredEvent } from "../store/SessionLog.js"
import type { Sink } from "./Audience.js"
import { Audiences, framesOf, readAhead, type Subscription } from "./Audiences.js"
import { EventLog, type Unreadable } from "./EventLog.js"

/** The events that a reader wants: those after a cursor, and of these only what the filter picks. */
export interface FeedRequest extends LogFilter {
  /** The `seq` to read on from, exclusive; the beginning when undefined. */
  readonly after?: number | undefined
}

/**
 * Follows sessions as they go: the log from a cursor, then each event that is added to it. A reader gets every event once and in order. A
 * commit wakes it, and it also looks at the log now and then by itself, so a lost ring delays an event and never loses one.
 */
export class EventFeed extends Context.Tag("@reins/core/events/EventFeed")<
  EventFeed,
  {
    /**
     * Delivers to a sink, which must not throw. `batch` events of the log are read at once to catch up. `deltas` takes the deltas that are
     * whispered while the reader is up to date. The caller closes the subscription. Fails with `not_found` for a session that the principal
     * may not see, with `invalid_cursor` for a cursor that is negative or beyond the newest event, and with `history_reset_required` for one
     * below the events that are kept.
     */
    readonly subscribe: (
      principal: Principal,
      sessionId: string,
      request: FeedRequest & { readonly batch: number; readonly deltas?: ((frame: Buffer) => void) | undefined },
      sink: Sink
    ) => Effect.Effect<Subscription, Unreadable>
    /**
     * Tells the readers of this process that want deltas, and all who overhear, what an agent of this process says. A delta is not in the log, and
     * nobody can rely on it.
     */
    readonly whisper: (delta: MessageDelta) => Effect.Effect<void>
    /** Tells the readers of this process what an agent of another process says, as that process was overheard. */
    readonly repeat: (delta: MessageDelta) => void
    /**
     * Calls the listener, which must not throw, with what the agent of a session in this process says, in its order, until the returned function is
     * called.
     */
    readonly overhear: (sessionId: string, listener: (delta: MessageDelta) => void) => () => void
    /**
     * The events of a session as a stream that never ends: the log from the cursor, then each event as it is committed, in ascending `seq`.
     * A slow reader holds up nobody and misses nothing. Fails at its begin as `subscribe` does.
     */
    readonly stream: (principal: Principal, sessionId: string, request: FeedRequest) => Stream.Stream<Event, Unreadable>
  }
>() {
  static readonly layer = Layer.scoped(
    EventFeed,
    Effect.gen(function* () {
      const log = yield* EventLog
      const audiences = yield* Audiences.make({ read: log.read, topicOf: sessionTopic })
      const overhearing = new Map<string, Set<(delta: MessageDelta) => void>>()

      const repeat = (delta: MessageDelta) => audiences.find(delta.session_id)?.whisper(delta)

      const overhear: EventFeed["Type"]["overhear"] = (sessionId, listener) => {
        const listeners = overhearing.get(sessionId) ?? new Set()
        // Each call has a function of its own, because one listener may overhear a session twice.
        const own = (delta: MessageDelta) => listener(delta)
        overhearing.set(sessionId, listeners.add(own))
        return () => {
          listeners.delete(own)
          if (listeners.size === 0 && overhearing.get(sessionId) === listeners) overhearing.delete(sessionId)
        }
      }

      const subscribe = fn("EventFeed.subscribe")(function* (
        principal: Principal,
        sessionId: string,
        { after = 0, batch, deltas, ...filter }: Parameters<EventFeed["Type"]["subscribe"]>[2],
        sink: Sink
      ) {
        const watermark = yield* log.open(principal, sessionId, after)
        const wantsAll = filter.turnId === undefined && filter.types === undefined
        return audiences.subscribe(sessionId, watermark, {
          wants: wantsAll ? undefined : (event) => matches(event, filter),
          deltas: deltas && { wants: (delta) => wantsDelta(delta, filter), take: deltas },
          batch,
          sink,
          cursor: after
        })
      })

      return EventFeed.of({
        subscribe,
        whisper: (delta) =>
          Effect.sync(() => {
            repeat(delta)
            for (const listener of overhearing.get(delta.session_id) ?? []) listener(delta)
          }),
        repeat,
        overhear,
        stream: (principal, sessionId, request) =>
          Stream.mapEffect(
            framesOf((sink) => subscribe(principal, sessionId, { ...request, batch: readAhead }, sink)),
            ({ event }) => Effect.orDie(parseEvent(event.envelope))
          )
      })
    })
  )
}

const matches = (event: StoredEvent, { turnId, types }: LogFilter): boolean =>
  (types === undefined || types.has(event.type)) && (turnId === undefined || event.turn_id === turnId)

const wantsDelta = (delta: MessageDelta, { turnId, types }: LogFilter): boolean =>
  (types === undefined || types.has("message.part_updated")) && (turnId === undefined || delta.turn_id === turnId)

const parseEvent = Schema.decodeUnknown(Schema.parseJson(Event))
