import { type Circumstances, limited, sleep } from "./Clock.js"
import type { Event, MessageDelta, WorkspaceEvent } from "./generated/Resources.js"
import { ReinsConnectionError } from "./ReinsClientError.js"
import { delayMs, Failure, mayRepeat, unanswered } from "./RetryPolicy.js"
import { type Route, routeOf } from "./Route.js"
import { type Frame, makeParser } from "./ServerSentEvents.js"
import type { OpenResponse, Transport } from "./Transport.js"

/** One fact of a session, as a union that a switch over `type` can tell apart. */
export type TypedEvent = Event

/** The type of an event, such as `turn.succeeded`. */
export type EventType = TypedEvent["type"]

/** The name of all event types of one resource, such as `turn.*`. */
export type EventFamily = EventType extends `${infer Resource}.${string}` ? `${Resource}.*` : never

interface Of<T extends EventType> {
  readonly type: T
}

/** The payload of an event of a type. */
export type EventPayload<T extends EventType> = Extract<TypedEvent, Of<T>>["payload"]

/** The events that a stream gives. */
export interface StreamInput {
  /** The session that they belong to. */
  readonly session_id: string
  /** The `seq` after which to begin; from the first event of the session when absent. */
  readonly after?: number | undefined
  /** Only these types. */
  readonly types?: ReadonlyArray<EventType | EventFamily> | undefined
  /** Only the events of this turn. */
  readonly turn_id?: string | undefined
  /**
   * Called with words as the agent says them, before the events that hold them. They may come incomplete and are not repeated after a
   * break. Show them, and replace them by the parts of the message as those come.
   */
  readonly onDelta?: ((delta: MessageDelta) => void) | undefined
}

/** The families of types that the stream of a workspace has. */
type WorkspaceFamily = `${"session" | "turn" | "usage" | "changeset" | "delivery" | "merge_request" | "delegation"}.*`

/** The types of events that the stream of a workspace has: what a list of sessions shows. */
export type WorkspaceEventType = Extract<
  EventType,
  WorkspaceFamily extends `${infer Resource}.*` ? `${Resource}.${string}` : never
>

/** The events that the stream of a workspace gives. */
export interface WorkspaceStreamInput {
  /** The workspace whose sessions they belong to. */
  readonly workspace_id: string
  /** The position after which to begin; from the first event that is kept when absent. */
  readonly after?: number | undefined
  /** Only these types. */
  readonly types?: ReadonlyArray<WorkspaceEventType | WorkspaceFamily> | undefined
  /** Only events of the sessions of this project. */
  readonly project_id?: string | undefined
  /** Only events of sessions that have this label now, as `name=value`, and every `session.updated`. */
  readonly label?: string | undefined
}

interface Connection extends OpenResponse {
  readonly openedAt: number
  readonly decoder: TextDecoder
  readonly parse: (text: string) => Array<Frame>
  /** The read that is under way, or that was given up with its answer still to be taken. */
  reading: ReturnType<OpenResponse["body"]["read"]> | undefined
  advanced: boolean
}

/** The server sends a heartbeat every 15 s. A connection that missed three of them is dead, though nobody closed it. */
const longestSilenceMs = 45_000
/** A connection that lived as long was not refused, even when it said nothing. */
const settledMs = 10_000

/** A log, and the events that are wanted of it. */
interface LogInput<Item> {
  readonly route: Route
  /** The query but for `after`. */
  readonly query: Readonly<Record<string, unknown>>
  readonly after: number | undefined
  /** The item that a reader gets for an event and its place in the log. */
  readonly itemOf: (event: TypedEvent, seq: number) => Item
  readonly onDelta: ((delta: MessageDelta) => void) | undefined
}

/** A position in a log that moves on as it is read. Only one reader may use it at a time. */
export class LogReader<Item> {
  private cursor: number | undefined
  private connection: Connection | undefined
  private ready: ReadonlyArray<Item> = []
  private reached = false
  /** Tries in a row that brought nothing. */
  private failures = 0

  /**
   * A reader that has not connected yet. `maxRetries` is for reaching the server at first; from then on the reader tries again for as long as
   * it takes.
   */
  constructor(
    private readonly transport: Transport,
    private readonly input: LogInput<Item>,
    private readonly maxRetries = transport.maxRetries
  ) {
    this.cursor = input.after
  }

  /**
   * Waits until there are events to take. It reconnects as often as it takes, without gap or repeat. It rejects when that cannot help (such
   * as 401, 403, 404, 410 and 422), and when the server was never reached within the retries. One that was aborted has taken nothing.
   */
  async wait(circumstances: Circumstances): Promise<void> {
    while (this.ready.length === 0) {
      try {
        await this.step(circumstances)
      } catch (failure) {
        if (!(failure instanceof Failure)) throw failure
        await this.recover(failure, circumstances)
      }
    }
  }

  /** The events that have come, in their order. */
  take(): ReadonlyArray<Item> {
    const events = this.ready
    this.ready = []
    return events
  }

  close(): void {
    this.connection?.close()
    this.connection = undefined
  }

  /** Takes in what the next piece of the connection holds, which may be nothing. */
  private async step(circumstances: Circumstances): Promise<void> {
    const from = this.connection ?? (await this.connect(circumstances))
    const chunk = await nextChunk(from, circumstances)
    from.reading = undefined
    const events: Array<Item> = []
    this.ready = events
    const deltas: Array<MessageDelta> = []
    for (const frame of from.parse(from.decoder.decode(chunk, { stream: true }))) {
      try {
        events.push(...this.accept(from, frame))
        if (frame.event === "message.delta" && frame.data !== undefined) deltas.push(JSON.parse(frame.data))
      } catch {
        // The events before the broken frame are good. The rest is asked for again.
        if (events.length === 0) throw broken("The event stream is malformed")
        this.lose(circumstances)
        break
      }
    }
    for (const delta of deltas) this.input.onDelta?.(delta)
  }

  private async connect(circumstances: Circumstances): Promise<Connection> {
    const query = { ...(this.cursor !== undefined && { after: this.cursor }), ...this.input.query }
    const opened = await this.transport.open(this.input.route, query, circumstances)
    this.reached = true
    this.connection = {
      ...opened,
      openedAt: circumstances.clock.now(),
      decoder: new TextDecoder(),
      parse: makeParser(),
      reading: undefined,
      advanced: false
    }
    return this.connection
  }

  /** The event of a frame. A frame without an id is not of the log, and `stream.end` is followed by the end of the body. */
  private accept(from: Connection, frame: Frame): Array<Item> {
    const seq = frame.id === undefined ? Number.NaN : Number(frame.id)
    if (!Number.isSafeInteger(seq) || seq <= (this.cursor ?? 0)) return []
    // Boundary: the server wrote the event by its schema.
    const event: TypedEvent | undefined = frame.data === undefined ? undefined : JSON.parse(frame.data)
    this.cursor = seq
    from.advanced = true
    return event === undefined ? [] : [this.input.itemOf(event, seq)]
  }

  /** Gives the connection up, and counts it as a failure unless it was healthy. */
  private lose({ clock }: Circumstances): void {
    const lost = this.connection
    const healthy = lost !== undefined && (lost.advanced || clock.now() - lost.openedAt >= settledMs)
    this.failures = healthy ? 0 : this.failures + 1
    this.close()
  }

  /** Waits for the next try, or rejects when another try cannot help. */
  private async recover(failure: Failure, circumstances: Circumstances): Promise<void> {
    const heals = this.reached ? failure.repeat : mayRepeat(failure, this.failures, this.maxRetries)
    if (!heals) throw failure.error
    this.lose(circumstances)
    if (this.failures > 0) await sleep(delayMs(this.failures - 1, failure.afterMs, circumstances.clock), circumstances)
  }
}

const listOf = (types: ReadonlyArray<string> | undefined) => types !== undefined && { types: types.join(",") }

/** A reader of the events of a session. */
export class EventReader extends LogReader<TypedEvent> {
  constructor(transport: Transport, { after, onDelta, types, ...scope }: StreamInput, maxRetries?: number) {
    const query = { ...scope, ...listOf(types), ...(onDelta !== undefined && { deltas: true }) }
    const itemOf = (event: TypedEvent) => event
    super(transport, { route: sessionRoute, query, after: after ?? 0, itemOf, onDelta }, maxRetries)
  }
}

/** A reader of the events of all sessions of a workspace. */
export class WorkspaceEventReader extends LogReader<WorkspaceEvent> {
  constructor(transport: Transport, { after, types, ...scope }: WorkspaceStreamInput) {
    const itemOf = (event: TypedEvent, position: number) => ({ position, event })
    const query = { ...scope, ...listOf(types) }
    super(transport, { route: workspaceRoute, query, after, itemOf, onDelta: undefined })
  }
}

const sessionRoute = routeOf("sessions", "listEvents")
const workspaceRoute = routeOf("workspaces", "listEvents")

/** The next bytes of a connection. A read that was given up is taken up again, so no bytes are lost. */
const nextChunk = async (from: Connection, circumstances: Circumstances): Promise<Uint8Array> => {
  from.reading ??= from.body.read()
  const read = from.reading.catch(() => {
    throw broken("The event stream broke off")
  })
  const limit = { ...circumstances, timeoutMs: longestSilenceMs }
  const chunk = await limited(read, limit, () => broken("The event stream fell silent"))
  if (chunk.done) throw broken("The event stream ended")
  return chunk.value
}

const broken = (message: string): Failure => unanswered(new ReinsConnectionError({ reason: "unreachable", message }))
