import type { EventQuery } from "@reins/core/api/SessionsApi"
import type { Principal } from "@reins/core/domain/Principal"
import { ReinsError } from "@reins/core/domain/ReinsError"
import type { RequestInvalid } from "@reins/core/domain/RequestInvalid"
import { EventFeed } from "@reins/core/events/EventFeed"
import { EventLog } from "@reins/core/events/EventLog"
import { parseEventTypes } from "@reins/core/events/EventTypes"
import { fn } from "@reins/core/Traced"
import { Context, Deferred, Duration, Effect, Layer } from "effect"
import type { Exchange } from "./http/Exchange.js"
import { Authentication } from "./http/middleware/Authentication.js"
import { Reply } from "./http/Reply.js"
import { Shutdown } from "./Shutdown.js"
import { type EndReason, StreamWriter } from "./StreamWriter.js"

export interface StreamOptions {
  /** Streams of one principal on one session at a time; null for any number. */
  readonly perSession: number | null
  /** How often a stream beats, and its caller's access is looked at again. */
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
      exchange: Exchange,
      principal: Principal,
      sessionId: string,
      query: typeof EventQuery.Type
    ) => Effect.Effect<Reply, ReinsError | RequestInvalid>
  }
>() {
  static readonly layer = (options: StreamOptions) =>
    Layer.scoped(
      EventStreams,
      Effect.gen(function* () {
        const authentication = yield* Authentication
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

        /** The streams that are open. */
        const open = new Set<OpenStream>()
        let opened = 0

        /** Visits every open stream once in a heartbeat, some at a time, so that hundreds do not come at once. */
        const rounds = Effect.fnUntraced(function* (visit: (stream: OpenStream) => Effect.Effect<void>) {
          const pause = Duration.times(options.heartbeat, 1 / turnsOfRound)
          for (let turn = 0; ; turn = (turn + 1) % turnsOfRound) {
            yield* Effect.sleep(pause)
            for (const stream of open) if (stream.turn === turn) yield* visit(stream)
          }
        })

        // What the credentials may do can change while they are used: a stream must not outlive it.
        const lookAgain = ({ cursor, end, exchange, sessionId }: OpenStream) =>
          Effect.gen(function* () {
            const caller = yield* authentication.identify(exchange)
            if (caller === undefined || (yield* Effect.isFailure(log.open(caller, sessionId, cursor())))) end("refused")
          }).pipe(
            // Not to be able to look now says nothing of it.
            Effect.catchAllDefect(() => Effect.void)
          )

        yield* Effect.forkScoped(rounds(({ writer }) => Effect.sync(() => writer.heartbeat())))
        // Apart from the beats, which must not wait for a database that does not answer.
        yield* Effect.forkScoped(rounds(lookAgain))
        yield* Effect.forkScoped(
          Effect.map(shutdown.begun, () => {
            for (const { end } of open) end("shutdown")
          })
        )

        const stream = Effect.fnUntraced(function* (
          exchange: Exchange,
          principal: Principal,
          sessionId: string,
          query: typeof EventQuery.Type
        ) {
          const after = yield* cursorOf(exchange, query.after)
          const types = yield* parseEventTypes(query.types)
          yield* takeSeat(
            `${sessionId} ${principal.accountId} ${principal.via.kind === "api_key" ? principal.via.keyId : ""}`
          )
          const ended = yield* Deferred.make<EndReason>()
          const end = (reason: EndReason) => Deferred.unsafeDone(ended, Effect.succeed(reason))
          const patienceMs = Duration.toMillis(options.patience)
          const writer = new StreamWriter(exchange.response, () => end("slow_consumer"), patienceMs)
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
          const { cursor } = subscription
          yield* Effect.acquireRelease(
            Effect.sync(() => {
              const stream: OpenStream = { exchange, sessionId, writer, cursor, end, turn: opened++ % turnsOfRound }
              open.add(stream)
              writer.open(exchange, subscription)
              return stream
            }),
            (stream) =>
              Effect.sync(() => {
                open.delete(stream)
                writer.close()
              })
          )
          if (yield* shutdown.hasBegun) end("shutdown")
          const lastsSeconds = Duration.seconds(clamp(query.max_seconds))
          yield* Effect.forkScoped(
            Effect.delay(
              Effect.sync(() => end("max_seconds")),
              lastsSeconds
            )
          )
          writer.end(yield* Deferred.await(ended), cursor())
          // Already written: its status is for the metrics.
          return new Reply(200)
        }, Effect.scoped)

        return EventStreams.of({
          answer: fn("EventStreams.answer")(function* (exchange, principal, sessionId, query) {
            exchange.headers["vary"] = "Accept"
            if (acceptsStream(exchange)) return yield* stream(exchange, principal, sessionId, query)
            const types = yield* parseEventTypes(query.types)
            const { after, limit, turn_id: turnId } = query
            const { envelopes, ...rest } = yield* log.storedPage(principal, sessionId, { after, limit, types, turnId })
            return Reply.jsonText(200, `{"items":[${envelopes.join(",")}],${JSON.stringify(rest).slice(1)}`)
          })
        })
      })
    )
}

/** A stream while it is open. */
interface OpenStream {
  readonly exchange: Exchange
  readonly sessionId: string
  readonly writer: StreamWriter
  /** The `seq` of the last event that was delivered or left out. */
  readonly cursor: () => number
  /** The first reason that is given counts. */
  readonly end: (reason: EndReason) => void
  /** The turn of each round in which it is visited. */
  readonly turn: number
}

/** How many parts the streams are visited in. */
const turnsOfRound = 10

const minSeconds = 0.5
const maxSeconds = 600

const clamp = (value: number): number => Math.min(maxSeconds, Math.max(minSeconds, value))

const acceptsStream = (exchange: Exchange): boolean =>
  exchange.method === "GET" && /(?:^|[\s,])text\/event-stream\s*(?:[;,]|$)/i.test(exchange.header("accept") ?? "")

/** A browser that reconnects repeats the URL and sends the last id that it saw, which may only be further on. */
const cursorOf = (exchange: Exchange, after: number | undefined): Effect.Effect<number | undefined, ReinsError> => {
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
