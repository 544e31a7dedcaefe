import { Chunk, Effect, Fiber, FiberSet, type Scope, Stream } from "effect"
import { Bell } from "../store/Bell.js"
import * as Loop from "../store/Loop.js"
import type { LogEntry, Slice } from "../store/Slices.js"
import { Audience, type Frame, type Reader, type Sink } from "./Audience.js"

/** A reader of a log. It is given nothing before its first `resume`. */
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

/** Logs of one sort, as those of sessions. */
export interface Source<Entry extends LogEntry> {
  /** At most `limit` events after a cursor. */
  readonly read: (id: string, after: number, limit: number) => Effect.Effect<Slice<Entry>>
  /** The topic that rings when a log has new events. */
  readonly topicOf: (id: string) => string
}

interface Occupied<Entry extends LogEntry> {
  readonly audience: Audience<Entry>
  readonly leave: (reader: Reader<Entry>) => void
}

/** The audiences of the logs that somebody reads. */
export class Audiences<Entry extends LogEntry> {
  private readonly open = new Map<string, Occupied<Entry>>()

  private constructor(
    private readonly source: Source<Entry>,
    private readonly bell: Bell["Type"],
    private readonly run: (effect: Effect.Effect<void>) => Fiber.RuntimeFiber<void>
  ) {}

  /** Nothing is read before the first reader comes. All readers are left alone when the scope closes. */
  static readonly make = <Entry extends LogEntry>(
    source: Source<Entry>
  ): Effect.Effect<Audiences<Entry>, never, Bell | Scope.Scope> =>
    Effect.gen(function* () {
      return new Audiences(source, yield* Bell, yield* FiberSet.makeRuntime<never>())
    })

  find(id: string): Audience<Entry> | undefined {
    return this.open.get(id)?.audience
  }

  /** A reader of a log that starts behind `cursor`, when the newest event is `watermark`. */
  subscribe(id: string, watermark: number, reader: Omit<Reader<Entry>, "state">): Subscription {
    const { audience, leave } = this.enter(id, watermark)
    const own: Reader<Entry> = { ...reader, state: "paused" }
    audience.readers.add(own)
    return {
      watermark,
      cursor: () => own.cursor,
      resume: () => audience.resume(own),
      close: () => leave(own)
    }
  }

  /** The audience of a log. The first reader opens it, and the last one that leaves closes it. */
  private enter(id: string, watermark: number): Occupied<Entry> {
    const existing = this.open.get(id)
    if (existing !== undefined) return existing
    const audience: Audience<Entry> = new Audience<Entry>(watermark, (reader) => {
      this.run(Loop.insist({ failure }, catchUp(this.source, id, audience, reader)))
    })
    const loop = {
      failure,
      topics: [this.source.topicOf(id)],
      everyMs: pollMs,
      round: follow(this.source, id, audience)
    }
    const follower = this.run(Effect.provideService(Loop.run(loop), Bell, this.bell))
    const leave = (reader: Reader<Entry>) => {
      audience.readers.delete(reader)
      if (audience.readers.size > 0 || this.open.get(id) !== occupied) return
      this.open.delete(id)
      this.run(Effect.asVoid(Fiber.interrupt(follower)))
    }
    const occupied: Occupied<Entry> = { audience, leave }
    this.open.set(id, occupied)
    return occupied
  }
}

/** Reads on from the head of an audience, and tells its readers. */
const follow = <Entry extends LogEntry>(source: Source<Entry>, id: string, audience: Audience<Entry>) =>
  Effect.gen(function* () {
    const { events, isWhole } = yield* source.read(id, audience.head, readAhead)
    if (events.length > 0) {
      audience.publish(events)
      yield* pauseAfter(audience.readers.size)
    }
    return isWhole ? undefined : atOnce
  })

const atOnce = { waitMs: 0 }

/**
 * Gives a reader the next events of the log. When they were deleted since the reader came it gets no more, rather than a gap, and is told so
 * when it comes back.
 */
const catchUp = <Entry extends LogEntry>(
  source: Source<Entry>,
  id: string,
  audience: Audience<Entry>,
  reader: Reader<Entry>
) =>
  Effect.map(source.read(id, reader.cursor, reader.batch), ({ events }) => {
    if (events.length > 0) audience.supply(reader, events)
  })

/** A subscription as a stream. Its sink wants no more while frames wait that the stream has not taken. */
export const framesOf = <Entry extends LogEntry, E>(
  subscribe: (sink: Sink<Entry>) => Effect.Effect<Subscription, E>
): Stream.Stream<Frame<Entry>, E> =>
  Stream.unwrapScoped(
    Effect.gen(function* () {
      const filled = yield* Effect.makeLatch(false)
      let waiting: Array<Frame<Entry>> = []
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
      return Stream.repeatEffectChunk(Effect.zipRight(filled.await, take))
    })
  )

/** Events that are read at once, and that wait for a slow reader of a stream. */
export const readAhead = 500

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
const failure = "the event log cannot be read"
