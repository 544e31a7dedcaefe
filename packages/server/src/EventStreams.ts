import type { EventQuery } from "@reins/core/api/SessionsApi"
import { fn } from "@reins/core/base/Traced"
import type { Principal } from "@reins/core/domain/Principal"
import { ReinsError } from "@reins/core/domain/ReinsError"
import type { RequestInvalid } from "@reins/core/domain/RequestInvalid"
import { EventFeed } from "@reins/core/events/EventFeed"
import { EventLog, type Unreadable } from "@reins/core/events/EventLog"
import { parseEventTypes } from "@reins/core/events/EventTypes"
import { Context, Deferred, Duration, Effect, Layer, Schedule } from "effect"
import { openStreams } from "./Figures.js"
import type { Exchange } from "./http/Exchange.js"
import { Authentication } from "./http/middleware/Authentication.js"
import { Reply } from "./http/Reply.js"
import { Shutdown } from "./Shutdown.js"
import { type EndReason, StreamWriter } from "./StreamWriter.js"

export interface StreamOptions {
  /** The most streams of one principal on one session at a time; null for any number. */
  readonly perSession: number | null
  /** The time between two beats of a stream. The access of its caller is looked at again as often. */
  readonly heartbeat: Duration.DurationInput
  /** The time that a client may leave the bytes of its stream unread. */
  readonly patience: Duration.DurationInput
}

export const streamDefaults: StreamOptions = { perSession: 8, heartbeat: "15 seconds", patience: "30 seconds" }

/** The refusals of a stream or a page. */
export type Refusal = Unreadable | ReinsError<"rate_limited"> | RequestInvalid

type Query = typeof EventQuery.Type

/** Answers `GET .../events`: with a page of the log, or with a stream when the client accepts one. */
export class EventStreams extends Context.Tag("@reins/server/EventStreams")<
  EventStreams,
  {
    /**
     * A stream is written to the response of the exchange, and the reply comes when it has ended. Fails like `EventLog.page`, and with
     * `rate_limited` when the principal reads too many streams of the session.
     */
    readonly answer: (
      exchange: Exchange,
      principal: Principal,
      sessionId: string,
      query: Query
    ) => Effect.Effect<Reply, Refusal>
  }
>() {
  static readonly layer = (options: StreamOptions) =>
    Layer.scoped(
      EventStreams,
      Effect.gen(function* () {
        const log = yield* EventLog
        const streams: Streams = {
          options,
          log,
          feed: yield* EventFeed,
          authentication: yield* Authentication,
          shutdown: yield* Shutdown,
          seats: new Map(),
          open: new Set(),
          opened: 0
        }
        yield* Effect.forkScoped(
          Effect.map(streams.shutdown.begun, () => {
            for (const end of streams.open) end("shutdown")
          })
        )
        return EventStreams.of({
          answer: fn("EventStreams.answer")(function* (exchange, principal, sessionId, query) {
            const { vary } = exchange.headers
            exchange.headers["vary"] = vary === undefined ? "Accept" : `${vary}, Accept`
            if (acceptsStream(exchange)) return yield* stream(streams, exchange, principal, sessionId, query)
            const types = yield* parseEventTypes(query.types)
            const { after, limit, turn_id: turnId } = query
            const { envelopes, ...rest } = yield* log.storedPage(principal, sessionId, { after, limit, types, turnId })
            return Reply.jsonText(200, `{"items":[${envelopes.join(",")}],${JSON.stringify(rest).slice(1)}`)
          })
        })
      })
    )
}

/** The streams of this process, and the services that they need. */
interface Streams {
  readonly options: StreamOptions
  readonly log: EventLog["Type"]
  readonly feed: EventFeed["Type"]
  readonly authentication: Authentication["Type"]
  readonly shutdown: Shutdown["Type"]
  /** The number of streams of each principal on each session. */
  readonly seats: Map<string, number>
  /** The functions that end the open streams. */
  readonly open: Set<(reason: EndReason) => void>
  /** The number of streams that were ever opened. */
  opened: number
}

/** Writes a stream to the response until it ends. The reply was written already, and its status is for the metrics. */
const stream = Effect.fnUntraced(function* (
  streams: Streams,
  exchange: Exchange,
  principal: Principal,
  sessionId: string,
  query: Query
) {
  const { feed, open, options, shutdown } = streams
  const after = yield* cursorOf(exchange, query.after)
  const types = yield* parseEventTypes(query.types)
  yield* takeSeat(streams, seatOf(sessionId, principal))
  const ended = yield* Deferred.make<EndReason>()
  // Only the first reason counts.
  const end = (reason: EndReason) => Deferred.unsafeDone(ended, Effect.succeed(reason))
  const writer = new StreamWriter(exchange.response, () => end("slow_consumer"), Duration.toMillis(options.patience))
  const { limit: batch, turn_id: turnId } = query
  const deltas = query.deltas ? writer.delta : undefined
  const subscription = yield* Effect.acquireRelease(
    feed.subscribe(principal, sessionId, { after, types, turnId, batch, deltas }, writer.sink),
    ({ close }) => Effect.sync(close)
  )
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      if (open.delete(end)) openStreams.unsafeModify(-1, [])
      writer.close()
    })
  )
  writer.open(exchange, subscription)
  open.add(end)
  openStreams.unsafeModify(1, [])
  if (yield* shutdown.hasBegun) end("shutdown")
  streams.opened++
  yield* inEachHeartbeat(
    streams,
    Effect.sync(() => writer.heartbeat())
  )
  // The rights of credentials can change while they are used, and a stream must not outlive them. Beats do not wait for this check.
  yield* inEachHeartbeat(
    streams,
    Effect.flatMap(mayReadOn(streams, exchange, sessionId, subscription.cursor), (mayRead) =>
      Effect.sync(() => mayRead || end("refused"))
    )
  )
  const reason = yield* Effect.timeoutTo(Deferred.await(ended), {
    duration: Duration.seconds(clamp(query.max_seconds)),
    onSuccess: (given): EndReason => given,
    onTimeout: (): EndReason => "max_seconds"
  })
  writer.end(reason, subscription.cursor())
  return new Reply(200)
}, Effect.scoped)

const seatOf = (sessionId: string, { accountId, via }: Principal): string =>
  `${sessionId} ${accountId} ${via.kind === "api_key" ? via.keyId : ""}`

/** Takes one of the places for streams, until the scope ends. */
const takeSeat = ({ options: { perSession }, seats }: Streams, seat: string) =>
  Effect.acquireRelease(
    Effect.suspend(() => {
      const taken = seats.get(seat) ?? 0
      if (perSession !== null && taken >= perSession) return Effect.fail(tooManyStreams(perSession))
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

/** Does something once in each heartbeat. Streams that opened in one moment have their turns one after another. */
const inEachHeartbeat = ({ opened, options }: Streams, effect: Effect.Effect<unknown>) => {
  const intervalMs = Duration.toMillis(options.heartbeat)
  const firstMs = (intervalMs * ((opened % turns) + 1)) / turns
  return Effect.forkScoped(Effect.delay(Effect.repeat(effect, Schedule.spaced(intervalMs)), firstMs))
}

/** False when the caller of a stream would be refused now. True when that cannot be determined. */
const mayReadOn = Effect.fnUntraced(
  function* ({ authentication, log }: Streams, exchange: Exchange, sessionId: string, cursor: () => number) {
    const caller = yield* authentication.identify(exchange)
    return caller !== undefined && !(yield* Effect.isFailure(log.open(caller, sessionId, cursor())))
  },
  Effect.catchAllDefect(() => Effect.succeed(true))
)

/** The streams of one moment are divided among so many turns. */
const turns = 10

const minSeconds = 0.5
const maxSeconds = 600

const clamp = (value: number): number => Math.min(maxSeconds, Math.max(minSeconds, value))

const acceptsStream = (exchange: Exchange): boolean =>
  exchange.method === "GET" && /(?:^|[\s,])text\/event-stream\s*(?:[;,]|$)/i.test(exchange.header("accept") ?? "")

/** The cursor of a stream. A browser that reconnects repeats the URL and sends the last id that it saw, which may only be further on. */
const cursorOf = (
  exchange: Exchange,
  after: number | undefined
): Effect.Effect<number | undefined, ReinsError<"invalid_cursor">> => {
  const lastId = exchange.header("last-event-id")
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
