import type { EventType, TypedEvent } from "@reins/core/domain/Event"
import type { MessageDelta } from "@reins/core/domain/Message"
import { Clock, Effect } from "effect"
import { routeOf } from "./Contract.js"
import { type ReinsClientError, ReinsConnectionError } from "./ReinsClientError.js"
import { type Failure, mayRepeat, pause, unanswered } from "./RetryPolicy.js"
import { type Frame, makeParser } from "./ServerSentEvents.js"
import type { OpenResponse, Transport } from "./Transport.js"

/** All types of one resource, such as `turn.*`. */
export type EventFamily = EventType extends `${infer Resource}.${string}` ? `${Resource}.*` : never

export interface StreamInput {
  readonly session_id: string
  /** The `seq` after which to begin; from the first event of the session when absent. */
  readonly after?: number
  /** Only these types. */
  readonly types?: ReadonlyArray<EventType | EventFamily>
  /** Only the events of this turn. */
  readonly turn_id?: string
  /**
   * Called with words as the agent says them, before the events that hold them. They may come incomplete and are not repeated after a
   * break: show them, and replace them by the parts of the message as those come.
   */
  readonly onDelta?: (delta: MessageDelta) => void
}

/** A position in the events of a session that moves on as it is read. One reader at a time. */
export interface EventReader {
  /**
   * The next events, at least one, in the order of their `seq`. Reconnects as often as it takes, without gap or repeat. Fails when
   * that cannot help (such as 401, 403, 404, 410 and 422), and when the server was never reached within the retries. One that was
   * interrupted has taken nothing: the next gives what it would have given.
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

/** The server sends a heartbeat every 15 s: after three of them the connection is dead, though nobody closed it. */
const longestSilenceMs = 45_000
/** A connection that lived as long was not refused, however little it said. */
const settledMs = 10_000

/** `maxRetries` is for reaching the server at first; from then on it is awaited for as long as it takes. */
export const make = (transport: Transport, input: StreamInput, maxRetries = transport.maxRetries): EventReader => {
  const route = routeOf("sessions", "events")
  const { after, onDelta, types, ...scope } = input
  let cursor = after ?? 0
  let connection: Connection | undefined
  let ready: ReadonlyArray<TypedEvent> = []
  let reached = false
  /** Tries in a row that brought nothing. */
  let failures = 0

  const connect = Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const query = {
        ...scope,
        after: cursor,
        ...(types !== undefined && { types: types.join(",") }),
        ...(onDelta !== undefined && { deltas: true })
      }
      const opened = yield* restore(transport.open(route, query))
      reached = true
      const openedAt = yield* Clock.currentTimeMillis
      connection = {
        ...opened,
        openedAt,
        decoder: new TextDecoder(),
        parse: makeParser(),
        reading: undefined,
        advanced: false
      }
      return connection
    })
  )

  const disconnect = Effect.suspend(() => {
    const closing = connection?.close ?? Effect.void
    connection = undefined
    return closing
  })

  const read = (from: Connection) =>
    Effect.tryPromise({
      try: () => (from.reading ??= from.body.read()),
      catch: () => broken("The event stream broke off")
    }).pipe(
      Effect.timeoutFail({ duration: longestSilenceMs, onTimeout: () => broken("The event stream fell silent") }),
      Effect.flatMap((chunk) =>
        chunk.done ? Effect.fail(broken("The event stream ended")) : Effect.succeed(chunk.value)
      )
    )

  const accept = (from: Connection, frame: Frame): Array<TypedEvent> => {
    const seq = frame.id === undefined ? Number.NaN : Number(frame.id)
    // A frame without an id is not of the log: `stream.end` is followed by the end of the body.
    if (!Number.isSafeInteger(seq) || seq <= cursor) return []
    // Boundary: the server wrote the event by its schema.
    const event: TypedEvent | undefined = frame.data === undefined ? undefined : JSON.parse(frame.data)
    cursor = seq
    from.advanced = true
    return event === undefined ? [] : [event]
  }

  /** Takes what the next piece of the connection holds; may be nothing. */
  const step = Effect.gen(function* () {
    const from = connection ?? (yield* connect)
    const chunk = yield* read(from)
    from.reading = undefined
    const events: Array<TypedEvent> = []
    ready = events
    const deltas: Array<MessageDelta> = []
    for (const frame of from.parse(from.decoder.decode(chunk, { stream: true }))) {
      try {
        events.push(...accept(from, frame))
        if (frame.event === "message.delta" && frame.data !== undefined) deltas.push(JSON.parse(frame.data))
      } catch {
        // What came before the broken frame is good; the rest is asked for again.
        if (events.length === 0) return yield* Effect.fail(broken("The event stream is malformed"))
        yield* lose
        break
      }
    }
    for (const delta of deltas) onDelta?.(delta)
  })

  const lose = Effect.gen(function* () {
    const lost = connection
    const now = yield* Clock.currentTimeMillis
    const healthy = lost !== undefined && (lost.advanced || now - lost.openedAt >= settledMs)
    failures = healthy ? 0 : failures + 1
    yield* disconnect
  })

  const recover = (failure: Failure): Effect.Effect<void, ReinsClientError> =>
    Effect.gen(function* () {
      const heals = reached ? failure.repeat : mayRepeat(failure, failures, maxRetries)
      if (!heals) return yield* Effect.fail(failure.error)
      yield* lose
      if (failures > 0) yield* pause(failures - 1, failure.afterMs)
    })

  const pull = Effect.gen(function* () {
    while (ready.length === 0) yield* Effect.catchAll(step, recover)
    const events = ready
    ready = []
    return events
  })

  return { pull, close: disconnect }
}

const broken = (message: string): Failure => unanswered(new ReinsConnectionError({ reason: "unreachable", message }))
