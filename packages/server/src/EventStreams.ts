import { HttpServerResponse } from "@effect/platform"
import { NodeHttpServerRequest } from "@effect/platform-node"
import type { EventPage, EventQuery } from "@reins/core/api/SessionsApi"
import type { Principal } from "@reins/core/domain/Principal"
import { ReinsError } from "@reins/core/domain/ReinsError"
import type { RequestInvalid } from "@reins/core/domain/RequestInvalid"
import { EventFeed } from "@reins/core/events/EventFeed"
import { EventLog } from "@reins/core/events/EventLog"
import { parseEventTypes } from "@reins/core/events/EventTypes"
import { fn } from "@reins/core/Traced"
import { Context, Deferred, Duration, Effect, Layer, Schedule } from "effect"
import type { ExchangeState } from "./http/Exchange.js"
import { Authentication } from "./http/middleware/Authentication.js"
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
          // What the credentials may do can change while they are used: a stream must not outlive it.
          const refused = Effect.gen(function* () {
            const caller = yield* authentication.identify(exchange)
            if (caller === undefined) return true
            return yield* Effect.isFailure(log.open(caller, sessionId, subscription.cursor()))
          }).pipe(
            // Not to be able to look now says nothing of it.
            Effect.catchAllDefect(() => Effect.succeed(false)),
            Effect.delay(options.heartbeat),
            Effect.repeat({ until: (isRefused) => isRefused })
          )
          const reason = yield* Effect.raceAll<Effect.Effect<EndReason>>([
            Effect.as(refused, "refused"),
            Effect.as(Effect.sleep(Duration.seconds(clamp(query.max_seconds))), "max_seconds"),
            Effect.as(shutdown.begun, "shutdown"),
            Deferred.await(slow)
          ])
          writer.end(reason, subscription.cursor())
          // Already written: its status is for the metrics.
          return HttpServerResponse.empty({ status: 200 })
        }, Effect.scoped)

        return EventStreams.of({
          answer: fn("EventStreams.answer")(function* (exchange, principal, sessionId, query) {
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
