import { Cause, Chunk, Context, Effect, Fiber, FiberSet, Layer, Schema, Stream } from "effect"
import { fn } from "../base/Traced.js"
import { Event } from "../domain/Event.js"
import type { MessageDelta } from "../domain/Message.js"
import type { Principal } from "../domain/Principal.js"
import { Bell, sessionTopic } from "../store/Bell.js"
import type { LogFilter } from "../store/SessionLog.js"
import { Audience, type Frame, type Reader, type Sink } from "./Audience.js"
import { EventLog, type Unreadable } from "./EventLog.js"

/** The events that a reader wants: those after a cursor, and of these only what the filter picks. */
export interface FeedRequest extends LogFilter {
  /** The `seq` to read on from, exclusive; the beginning when undefined. */
  readonly after?: number | undefined
}

/** A reader of a session. It is given nothing before its first `resume`. */
export interface Subscription {
  /** The `seq` of the newest event when the subscription was made. */
  readonly watermark: number
  /** The `seq` of the last event that was delivered or left out: where to read on. */
  readonly cursor: () => number
  /** Starts the delivery, or goes on after the sink wanted no more. */
  readonly resume: () => void
  /** Ends the subscription. The sink is given nothing more. */
  readonly close: () => void
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
    /** Tells the readers of this process that want deltas. A delta is not in the log, and nobody can rely on it. */
    readonly whisper: (delta: MessageDelta) => Effect.Effect<void>
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
      const audiences = new Audiences(log, yield* Bell, yield* FiberSet.makeRuntime<never>())

      const subscribe = fn("EventFeed.subscribe")(function* (
        principal: Principal,
        sessionId: string,
        { after = 0, batch, deltas, turnId, types }: Parameters<EventFeed["Type"]["subscribe"]>[2],
        sink: Sink
      ) {
        const watermark = yield* log.open(principal, sessionId, after)
        const { audience, leave } = audiences.enter(sessionId, watermark)
        const reader: Reader = { filter: { turnId, types }, batch, sink, deltas, cursor: after, state: "paused" }
        audience.readers.add(reader)
        return {
          watermark,
          cursor: () => reader.cursor,
          resume: () => audience.resume(reader),
          close: () => leave(reader)
        }
      })

      return EventFeed.of({
        subscribe,
        whisper: (delta) => Effect.sync(() => audiences.find(delta.session_id)?.whisper(delta)),
        stream: (principal, sessionId, request) =>
          streamOf((sink) => subscribe(principal, sessionId, { ...request, batch: readAhead }, sink))
      })
    })
  )
}

interface Occupied {
  readonly audience: Audience
  readonly leave: (reader: Reader) => void
}

/** The audiences of the sessions that somebody reads. */
class Audiences {
  private readonly open = new Map<string, Occupied>()

  constructor(
    private readonly log: EventLog["Type"],
    private readonly bell: Bell["Type"],
    private readonly run: (effect: Effect.Effect<void>) => Fiber.RuntimeFiber<void>
  ) {}

  find(sessionId: string): Audience | undefined {
    return this.open.get(sessionId)?.audience
  }

  /** The audience of a session. The first reader opens it, and the last one that leaves closes it. */
  enter(sessionId: string, watermark: number): Occupied {
    const existing = this.open.get(sessionId)
    if (existing !== undefined) return existing
    const audience: Audience = new Audience(watermark, (reader) => {
      this.run(keepTrying(catchUp(this.log, sessionId, audience, reader)))
    })
    const rung = Effect.unsafeMakeLatch(true)
    const unlisten = this.bell.listen(sessionTopic(sessionId), () => {
      rung.unsafeOpen()
    })
    const follower = this.run(Effect.forever(keepTrying(follow(this.log, sessionId, audience, rung))))
    const leave = (reader: Reader) => {
      audience.readers.delete(reader)
      if (audience.readers.size > 0 || this.open.get(sessionId) !== occupied) return
      this.open.delete(sessionId)
      unlisten()
      this.run(Effect.asVoid(Fiber.interrupt(follower)))
    }
    const occupied: Occupied = { audience, leave }
    this.open.set(sessionId, occupied)
    return occupied
  }
}

/** Reads on from the head of an audience, tells its readers, and waits for a ring when there is no more. */
const follow = (log: EventLog["Type"], sessionId: string, audience: Audience, rung: Effect.Latch) =>
  Effect.gen(function* () {
    // Closed before the read, so that a ring during it is not missed.
    yield* rung.close
    const { events, isWhole } = yield* log.read(sessionId, audience.head, readAhead)
    if (events.length > 0) {
      audience.publish(events)
      yield* pauseAfter(audience.readers.size)
    }
    if (isWhole) yield* Effect.timeoutOption(rung.await, pollMs)
  })

/**
 * Gives a reader the next events of the log. When they were deleted since the reader came it gets no more, rather than a gap, and is told so
 * when it comes back.
 */
const catchUp = (log: EventLog["Type"], sessionId: string, audience: Audience, reader: Reader) =>
  Effect.map(log.read(sessionId, reader.cursor, reader.batch), ({ events }) => {
    if (events.length > 0) audience.supply(reader, events)
  })

/** A subscription as a stream. Its sink wants no more while frames wait that the stream has not taken. */
const streamOf = (subscribe: (sink: Sink) => Effect.Effect<Subscription, Unreadable>) =>
  Stream.unwrapScoped(
    Effect.gen(function* () {
      const filled = yield* Effect.makeLatch(false)
      let waiting: Array<Frame> = []
      const subscription = yield* Effect.acquireRelease(
        subscribe((frames) => {
          waiting.push(...frames)
          if (waiting.length > 0) filled.unsafeOpen()
          return waiting.length < readAhead
        }),
        ({ close }) => Effect.sync(close)
      )
      subscription.resume()
      const take = Effect.sync(() => {
        const taken = Chunk.unsafeFromArray(waiting)
        waiting = []
        filled.unsafeClose()
        subscription.resume()
        return taken
      })
      return Stream.repeatEffectChunk(Effect.zipRight(filled.await, take)).pipe(
        Stream.mapEffect((frame) => Effect.orDie(parseEvent(frame.event.envelope)))
      )
    })
  )

/** Events that are read at once, and that wait for a slow reader of a stream. */
const readAhead = 500

/**
 * A write to each reader takes some 10 us, however much it writes. So when many read, the next events wait for a moment that is longer
 * than the writing, and go out together: 500 readers take a fourth of a processor at most.
 */
const pauseAfter = (readers: number): Effect.Effect<void> =>
  readers < manyReaders ? Effect.void : Effect.sleep(readers * pauseOfReaderMs)

const manyReaders = 25
const pauseOfReaderMs = 0.04

/** The longest time that a lost ring can delay an event, in milliseconds. */
const pollMs = 5000

/** A log that cannot be read now is read again a little later: the reader waits, and misses nothing. */
const keepTrying = (read: Effect.Effect<void>): Effect.Effect<void> =>
  Effect.catchAllDefect(read, (defect) =>
    Effect.logWarning("the event log cannot be read", Cause.pretty(Cause.die(defect))).pipe(
      Effect.zipRight(Effect.sleep("1 second")),
      Effect.zipRight(Effect.suspend(() => keepTrying(read)))
    )
  )

const parseEvent = Schema.decodeUnknown(Schema.parseJson(Event))
