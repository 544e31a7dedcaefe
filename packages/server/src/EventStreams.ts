import type { ServerResponse } from "node:http"
import { HttpServerResponse } from "@effect/platform"
import { NodeHttpServerRequest } from "@effect/platform-node"
import type { EventPage, EventQuery } from "@reins/core/api/SessionsApi"
import type { Principal } from "@reins/core/domain/Principal"
import { ReinsError } from "@reins/core/domain/ReinsError"
import type { RequestInvalid } from "@reins/core/domain/RequestInvalid"
import { EventFeed } from "@reins/core/events/EventFeed"
import { EventLog } from "@reins/core/events/EventLog"
import { parseEventTypes } from "@reins/core/events/EventTypes"
import type { Sink } from "@reins/core/events/Room"
import { Context, Deferred, Duration, Effect, Layer, Schedule } from "effect"
import type { ExchangeState } from "./http/Exchange.js"
import { Shutdown } from "./Shutdown.js"

type EndReason = "max_seconds" | "shutdown" | "slow_consumer"

export interface StreamOptions {
  /** Streams of one principal on one session at a time; null for any number. */
  readonly perSession: number | null
  readonly heartbeat: Duration.DurationInput
  /** How long a client may leave what it was sent unread. */
  readonly patience: Duration.DurationInput
}

export const streamDefaults: StreamOptions = { perSession: 8, heartbeat: "15 seconds", patience: "30 seconds" }

/** Answers `GET .../events`: with a page of the log, or with a stream when the client accepts one. */
export class EventStreams extends Context.Tag("@reins/server/EventStreams")<
  EventStreams,
  {
    readonly answer: (
      exchange: ExchangeState,
      principal: Principal,
      sessionId: string,
      query: typeof EventQuery.Type
    ) => Effect.Effect<EventPage | HttpServerResponse.HttpServerResponse, ReinsError | RequestInvalid>
  }
>() {
  static readonly layer = (options: StreamOptions) =>
    Layer.effect(
      EventStreams,
      Effect.gen(function* () {
        const log = yield* EventLog
        const feed = yield* EventFeed
        const shutdown = yield* Shutdown
        const seats = new Map<string, number>()

        const takeSeat = (seat: string) =>
          Effect.acquireRelease(
            Effect.suspend(() => {
              const taken = seats.get(seat) ?? 0
              if (options.perSession !== null && taken >= options.perSession)
                return Effect.fail(tooManyStreams(options.perSession))
              seats.set(seat, taken + 1)
              return Effect.void
            }),
            () =>
              Effect.sync(() => {
                const left = (seats.get(seat) ?? 1) - 1
                if (left === 0) seats.delete(seat)
                else seats.set(seat, left)
              })
          )

        const stream = Effect.fnUntraced(function* (
          exchange: ExchangeState,
          principal: Principal,
          sessionId: string,
          query: typeof EventQuery.Type
        ) {
          const after = yield* cursorOf(exchange, query.after)
          const types = yield* parseEventTypes(query.types)
          yield* takeSeat(
            `${sessionId} ${principal.accountId} ${principal.via.kind === "api_key" ? principal.via.keyId : ""}`
          )
          const slow = yield* Deferred.make<EndReason>()
          const response = NodeHttpServerRequest.toServerResponse(exchange.request)
          const whenStalled = () => Deferred.unsafeDone(slow, Effect.succeed("slow_consumer"))
          const writer = new StreamWriter(response, whenStalled, Duration.toMillis(options.patience))
          const subscription = yield* Effect.acquireRelease(
            feed.subscribe(
              principal,
              sessionId,
              {
                after,
                types,
                turnId: query.turn_id,
                batch: query.limit,
                deltas: query.deltas ? writer.delta : undefined
              },
              writer.sink
            ),
            ({ close }) => Effect.sync(close)
          )
          yield* Effect.addFinalizer(() => Effect.sync(writer.close))
          writer.open(exchange, subscription)
          yield* Effect.forkScoped(
            Effect.schedule(
              Effect.sync(() => writer.heartbeat()),
              Schedule.spaced(options.heartbeat)
            )
          )
          const reason = yield* Effect.raceAll<Effect.Effect<EndReason>>([
            Effect.as(Effect.sleep(Duration.seconds(clamp(query.max_seconds))), "max_seconds"),
            Effect.as(shutdown.begun, "shutdown"),
            Deferred.await(slow)
          ])
          writer.end(reason, subscription.cursor())
          return HttpServerResponse.empty()
        }, Effect.scoped)

        return EventStreams.of({
          answer: Effect.fn("EventStreams.answer")(function* (exchange, principal, sessionId, query) {
            exchange.headers.set("vary", "Accept")
            if (acceptsStream(exchange)) return yield* stream(exchange, principal, sessionId, query)
            const types = yield* parseEventTypes(query.types)
            return yield* log.page(principal, sessionId, {
              after: query.after,
              limit: query.limit,
              types,
              turnId: query.turn_id
            })
          })
        })
      })
    )
}

/** Writes the frames of a stream straight to the connection, and takes no more while the client does not read. */
class StreamWriter {
  private stalled: NodeJS.Timeout | undefined
  private resume: () => void = () => {}

  constructor(
    private readonly response: ServerResponse,
    private readonly whenStalled: () => void,
    private readonly patienceMs: number
  ) {}

  readonly sink: Sink = (frames, cursor) => {
    const chunks = frames.map((frame) => frame.bytes)
    // Moves the reader on beyond what it did not ask for, so that it does not come back to it.
    if (frames.at(-1)?.event.seq !== cursor) chunks.push(Buffer.from(`id: ${cursor}\n\n`))
    const [only] = chunks
    if (this.response.write(only !== undefined && chunks.length === 1 ? only : Buffer.concat(chunks))) return true
    this.stalled = setTimeout(this.whenStalled, this.patienceMs)
    this.response.once("drain", () => {
      clearTimeout(this.stalled)
      this.resume()
    })
    return false
  }

  /** Left out while the client does not read: it gets the words with the log. */
  readonly delta = (frame: Buffer): void => {
    if (!this.response.writableNeedDrain) this.response.write(frame)
  }

  /** The first bytes go out at once, so that a client knows that it is connected. */
  open(exchange: ExchangeState, subscription: { readonly watermark: number; readonly resume: () => void }): void {
    this.resume = subscription.resume
    this.response.writeHead(200, {
      ...Object.fromEntries(exchange.headers),
      "content-type": "text/event-stream",
      "cache-control": "no-cache, no-transform",
      // A client that comes back needs a server that is there: over this connection it would find one that is being stopped. And one that
      // was cut off for not reading is not used for another request.
      connection: "close",
      "x-accel-buffering": "no"
    })
    this.response.write(`retry: 2000\n: watermark ${subscription.watermark}\n\n`)
    subscription.resume()
  }

  heartbeat(): void {
    if (!this.response.writableNeedDrain) this.response.write(": heartbeat\n\n")
  }

  end(reason: EndReason, cursor: number): void {
    this.response.end(`event: stream.end\ndata: ${JSON.stringify({ reason, next_after: cursor })}\n\n`)
  }

  /** Leaves the connection behind. Its end may still get through; if the client goes on to take nothing, it is cut. */
  readonly close = (): void => {
    clearTimeout(this.stalled)
    if (!this.response.writableEnded) this.response.end()
    if (!this.response.writableFinished)
      setTimeout(() => this.response.writableFinished || this.response.destroy(), this.patienceMs).unref()
  }
}

const minSeconds = 0.5
const maxSeconds = 600

const clamp = (value: number): number => Math.min(maxSeconds, Math.max(minSeconds, value))

const acceptsStream = ({ request }: ExchangeState): boolean =>
  request.method === "GET" && /(?:^|[\s,])text\/event-stream\s*(?:[;,]|$)/i.test(request.headers["accept"] ?? "")

/** A browser that reconnects repeats the URL and sends the last id that it saw, which may only be further on. */
const cursorOf = (
  exchange: ExchangeState,
  after: number | undefined
): Effect.Effect<number | undefined, ReinsError> => {
  const lastId = exchange.request.headers["last-event-id"]
  if (lastId === undefined || lastId === "") return Effect.succeed(after)
  return /^\d{1,15}$/.test(lastId) && Number(lastId) >= (after ?? 0)
    ? Effect.succeed(Number(lastId))
    : Effect.fail(badLastEventId)
}

const badLastEventId = new ReinsError({
  code: "invalid_cursor",
  message: "Last-Event-ID is not the id of an event of this stream. Send the last id that it gave, or none."
})

const tooManyStreams = (limit: number) =>
  new ReinsError({
    code: "rate_limited",
    message: `These credentials already read ${limit} streams of this session. Close one first.`,
    details: { limit },
    retryAfterSeconds: 5
  })
