import type { EventType, TypedEvent } from "@reins/core/domain/Event"
import type { MessageDelta } from "@reins/core/domain/Message"
import { Clock, Effect } from "effect"
import { routeOf } from "./Contract.js"
import { type ReinsClientError, ReinsConnectionError } from "./ReinsClientError.js"
import { type Failure, mayRepeat, pause, unanswered } from "./RetryPolicy.js"
import { type Frame, makeParser } from "./ServerSentEvents.js"
import type { OpenResponse, Transport } from "./Transport.js"

/** The name of all event types of one resource, such as `turn.*`. */
export type EventFamily = EventType extends `${infer Resource}.${string}` ? `${Resource}.*` : never

/** The events of a session to read. */
export interface StreamInput {
  /** The session, by its id. */
  readonly session_id: string
  /** The `seq` after which to begin; from the first event of the session when absent. */
  readonly after?: number
  /** Only these types. */
  readonly types?: ReadonlyArray<EventType | EventFamily>
  /** Only the events of this turn. */
  readonly turn_id?: string
  /**
   * Called with words as the agent says them, before the events that hold them. They may come incomplete and are not repeated after a
   * break. Show them, and replace them by the parts of the message as those come.
   */
  readonly onDelta?: (delta: MessageDelta) => void
}

/** A position in the events of a session that moves on as it is read. Only one reader may use it at a time. */
export interface EventReader {
  /**
   * The next events, at least one, in the order of their `seq`. It reconnects as often as it takes, without gap or repeat. It fails when
   * that cannot help (such as 401, 403, 404, 410 and 422), and when the server was never reached within the retries. A pull that was
   * interrupted has taken nothing: the next one gives the same events.
   */
  readonly pull: Effect.Effect<ReadonlyArray<TypedEvent>, ReinsClientError>
  readonly close: Effect.Effect<void>
}

interface Connection extends OpenResponse {
  readonly openedAt: number
  readonly decoder: { readonly decode: (chunk: Uint8Array, options: { readonly stream: true }) => string }
  readonly parse: (text: string) => Array<Frame>
  /** The read that is under way, or that was given up with its answer still to be taken. */
  reading: ReturnType<OpenResponse["body"]["read"]> | undefined
  advanced: boolean
}

/** The server sends a heartbeat every 15 s. A connection that missed three of them is dead, though nobody closed it. */
const longestSilenceMs = 45_000
/** A connection that lived as long was not refused, even when it said nothing. */
const settledMs = 10_000

/**
 * A reader that has not connected yet. `maxRetries` is for reaching the server at first; from then on the reader tries again for as long as it
 * takes.
 */
export const make = (transport: Transport, input: StreamInput, maxRetries = transport.maxRetries): EventReader => {
  const reader = new Reader(transport, input, maxRetries)
  return { pull: reader.pull, close: reader.disconnect }
}

class Reader implements Pick<EventReader, "pull"> {
  private readonly route = routeOf("sessions", "events")
  private cursor: number
  private connection: Connection | undefined
  private ready: ReadonlyArray<TypedEvent> = []
  private reached = false
  /** Tries in a row that brought nothing. */
  private failures = 0

  constructor(
    private readonly transport: Transport,
    private readonly input: StreamInput,
    private readonly maxRetries: number
  ) {
    this.cursor = input.after ?? 0
  }

  readonly pull: Effect.Effect<ReadonlyArray<TypedEvent>, ReinsClientError> = Effect.suspend(() =>
    Effect.gen(this, function* () {
      while (this.ready.length === 0) yield* Effect.catchAll(this.step, (failure) => this.recover(failure))
      const events = this.ready
      this.ready = []
      return events
    })
  )

  readonly disconnect: Effect.Effect<void> = Effect.suspend(() => {
    const closing = this.connection?.close ?? Effect.void
    this.connection = undefined
    return closing
  })

  /** Takes what the next piece of the connection holds, which may be nothing. */
  private readonly step: Effect.Effect<void, Failure> = Effect.suspend(() =>
    Effect.gen(this, function* () {
      const from = this.connection ?? (yield* this.connect)
      const chunk = yield* nextChunk(from)
      from.reading = undefined
      const events: Array<TypedEvent> = []
      this.ready = events
      const deltas: Array<MessageDelta> = []
      for (const frame of from.parse(from.decoder.decode(chunk, { stream: true }))) {
        try {
          events.push(...this.accept(from, frame))
          if (frame.event === "message.delta" && frame.data !== undefined) deltas.push(JSON.parse(frame.data))
        } catch {
          // The events before the broken frame are good. The rest is asked for again.
          if (events.length === 0) return yield* Effect.fail(broken("The event stream is malformed"))
          yield* this.lose
          break
        }
      }
      for (const delta of deltas) this.input.onDelta?.(delta)
    })
  )

  private readonly connect = Effect.uninterruptibleMask((restore) =>
    Effect.gen(this, function* () {
      const { after: _, onDelta, types, ...scope } = this.input
      const query = {
        ...scope,
        after: this.cursor,
        ...(types !== undefined && { types: types.join(",") }),
        ...(onDelta !== undefined && { deltas: true })
      }
      const opened = yield* restore(this.transport.open(this.route, query))
      this.reached = true
      const connection: Connection = {
        ...opened,
        openedAt: yield* Clock.currentTimeMillis,
        decoder: new TextDecoder(),
        parse: makeParser(),
        reading: undefined,
        advanced: false
      }
      this.connection = connection
      return connection
    })
  )

  /** The event of a frame. A frame without an id is not of the log, and `stream.end` is followed by the end of the body. */
  private accept(from: Connection, frame: Frame): Array<TypedEvent> {
    const seq = frame.id === undefined ? Number.NaN : Number(frame.id)
    if (!Number.isSafeInteger(seq) || seq <= this.cursor) return []
    // Boundary: the server wrote the event by its schema.
    const event: TypedEvent | undefined = frame.data === undefined ? undefined : JSON.parse(frame.data)
    this.cursor = seq
    from.advanced = true
    return event === undefined ? [] : [event]
  }

  /** Gives the connection up, and counts it as a failure unless it was healthy. */
  private readonly lose: Effect.Effect<void> = Effect.suspend(() =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const lost = this.connection
      const healthy = lost !== undefined && (lost.advanced || now - lost.openedAt >= settledMs)
      this.failures = healthy ? 0 : this.failures + 1
      return this.disconnect
    })
  )

  /** Waits for the next try, or fails when another try cannot help. */
  private recover(failure: Failure): Effect.Effect<void, ReinsClientError> {
    return Effect.gen(this, function* () {
      const heals = this.reached ? failure.repeat : mayRepeat(failure, this.failures, this.maxRetries)
      if (!heals) return yield* Effect.fail(failure.error)
      yield* this.lose
      if (this.failures > 0) yield* pause(this.failures - 1, failure.afterMs)
    })
  }
}

/** The next bytes of a connection. A read that was given up is taken up again, so no bytes are lost. */
const nextChunk = (from: Connection): Effect.Effect<Uint8Array, Failure> =>
  Effect.tryPromise({
    try: () => (from.reading ??= from.body.read()),
    catch: () => broken("The event stream broke off")
  }).pipe(
    Effect.timeoutFail({ duration: longestSilenceMs, onTimeout: () => broken("The event stream fell silent") }),
    Effect.flatMap((chunk) =>
      chunk.done ? Effect.fail(broken("The event stream ended")) : Effect.succeed(chunk.value)
    )
  )

const broken = (message: string): Failure => unanswered(new ReinsConnectionError({ reason: "unreachable", message }))
