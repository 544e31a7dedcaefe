import type { EventQuery } from "@reins/core/api/SessionsApi"
import { fn } from "@reins/core/base/Traced"
import type { Principal } from "@reins/core/domain/Principal"
import { ReinsError } from "@reins/core/domain/ReinsError"
import type { RequestInvalid } from "@reins/core/domain/RequestInvalid"
import { EventFeed } from "@reins/core/events/EventFeed"
import { EventLog } from "@reins/core/events/EventLog"
import { parseEventTypes } from "@reins/core/events/EventTypes"
import { Context, Deferred, Duration, Effect, Layer, Schedule } from "effect"
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

        /** The open streams, each by the function that ends it. */
        const open = new Set<(reason: EndReason) => void>()
        yield* Effect.forkScoped(
          Effect.map(shutdown.begun, () => {
            for (const end of open) end("shutdown")
          })
        )

        let opened = 0
        /** Does something once in each heartbeat. Streams that opened in one moment have their turns one after another. */
        const inEachHeartbeat = (effect: Effect.Effect<void>) => {
          const intervalMs = Duration.toMillis(options.heartbeat)
          const firstMs = (intervalMs * ((opened % turns) + 1)) / turns
          return Effect.forkScoped(Effect.delay(Effect.repeat(effect, Schedule.spaced(intervalMs)), firstMs))
        }

        const lookAgain = (exchange: Exchange, sessionId: string, cursor: () => number, refuse: () => void) =>
          Effect.gen(function* () {
            const caller = yield* authentication.identify(exchange)
            if (caller === undefined || (yield* Effect.isFailure(log.open(caller, sessionId, cursor())))) refuse()
          }).pipe(
            // Not to be able to look now says nothing of it.
            Effect.catchAllDefect(() => Effect.void)
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
          /** The first reason counts. */
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
          yield* Effect.addFinalizer(() =>
            Effect.sync(() => {
              open.delete(end)
              writer.close()
            })
          )
          writer.open(exchange, subscription)
          open.add(end)
          if (yield* shutdown.hasBegun) end("shutdown")
          opened++
          yield* inEachHeartbeat(Effect.sync(() => writer.heartbeat()))
          // What the credentials may do can change while they are used: a stream must not outlive it. The beats do not wait for this look.
          yield* inEachHeartbeat(lookAgain(exchange, sessionId, subscription.cursor, () => end("refused")))
          const reason = yield* Effect.timeoutTo(Deferred.await(ended), {
            duration: Duration.seconds(clamp(query.max_seconds)),
            onSuccess: (given): EndReason => given,
            onTimeout: (): EndReason => "max_seconds"
          })
          writer.end(reason, subscription.cursor())
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

/** How many turns the streams of one moment are divided among. */
const turns = 10

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
