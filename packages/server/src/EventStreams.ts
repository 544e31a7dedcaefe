import { fn } from "@reins/base/base/Traced"
import { SessionId } from "@reins/base/domain/Ids"
import { keyOf, type Principal } from "@reins/base/domain/Principal"
import { ReinsError } from "@reins/base/domain/ReinsError"
import type { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { parseEventTypes, parseWorkspaceTypes } from "@reins/core/Events"
import type { Subscription } from "@reins/core/events/Audiences"
import { EventFeed } from "@reins/core/events/EventFeed"
import { EventLog, type Unreadable } from "@reins/core/events/EventLog"
import type { EventQuery, WorkspaceEventQuery } from "@reins/core/events/EventsApi"
import { WorkspaceEvents } from "@reins/core/events/WorkspaceEvents"
import { WorkspaceFeed } from "@reins/core/events/WorkspaceFeed"
import type { TakeSeat } from "@reins/core/placement/cluster/StreamSeats"
import { Nodes } from "@reins/core/placement/Nodes"
import { accessTopic, Bell } from "@reins/core/store/Bell"
import { Context, Deferred, Duration, Effect, Layer, Schedule, type Scope } from "effect"
import { openStreams } from "./Figures.js"
import type { Exchange } from "./http/Exchange.js"
import { Authentication } from "./http/middleware/Authentication.js"
import { Reply } from "./http/Reply.js"
import type { Route } from "./http/Route.js"
import { Shutdown } from "./Shutdown.js"
import { streamSeats } from "./StreamSeats.js"
import { type EndReason, StreamWriter } from "./StreamWriter.js"

export interface StreamOptions {
  /** The most streams of one principal on one session, or on one workspace, at a time; null for any number. */
  readonly perSession: number | null
  /** The time between two beats of a stream. The access of its caller is looked at again as often, in case that no ring has told of its loss. */
  readonly heartbeat: Duration.DurationInput
  /** The time that a client may leave the bytes of its stream unread. */
  readonly patience: Duration.DurationInput
}

export const streamDefaults: StreamOptions = { perSession: 8, heartbeat: "15 seconds", patience: "30 seconds" }

/** The refusals of a stream or a page. */
export type Refusal = Unreadable | ReinsError<"rate_limited"> | RequestInvalid

type SessionQuery = typeof EventQuery.Type
type WorkspaceQuery = typeof WorkspaceEventQuery.Type

/** Answers `GET .../events`: with a page of the log, or with a stream when the client accepts one. */
export class EventStreams extends Context.Tag("@reins/server/EventStreams")<
  EventStreams,
  {
    /**
     * The events of a session. A stream is written to the response of the exchange, and the reply comes when it has ended. Fails like
     * `EventLog.page`, and with `rate_limited` when the principal reads too many streams of the session.
     */
    readonly answer: (
      exchange: Exchange,
      principal: Principal,
      sessionId: string,
      query: SessionQuery
    ) => Effect.Effect<Reply, Refusal>
    /** The same for the events of a workspace, like `WorkspaceEvents.page`. */
    readonly answerWorkspace: (
      exchange: Exchange,
      principal: Principal,
      workspaceId: string,
      query: WorkspaceQuery
    ) => Effect.Effect<Reply, Refusal>
    /** The routes that the other nodes of an installation use to follow the streams of this one. None on one machine. */
    readonly routesOfNodes: ReadonlyArray<Route>
  }
>() {
  static readonly layer = (options: StreamOptions) =>
    Layer.scoped(
      EventStreams,
      Effect.gen(function* () {
        const log = yield* EventLog
        const feed = yield* EventFeed
        const workspaceLog = yield* WorkspaceEvents
        const workspaceFeed = yield* WorkspaceFeed
        const streams: Streams = {
          options,
          bell: yield* Bell,
          authentication: yield* Authentication,
          shutdown: yield* Shutdown,
          takeSeat: yield* streamSeats,
          open: new Set(),
          opened: 0
        }
        yield* Effect.forkScoped(
          Effect.map(streams.shutdown.begun, () => {
            for (const end of streams.open) end("shutdown")
          })
        )

        const isNode = (yield* Nodes).self !== null
        // One machine loads nothing of it.
        const relay = isNode
          ? yield* (yield* Effect.promise(() => import("./DeltaRelay.js"))).relayingDeltas
          : undefined

        const answer = fn("EventStreams.answer")(function* (
          exchange: Exchange,
          principal: Principal,
          sessionId: string,
          query: SessionQuery
        ) {
          const { after, deltas, limit, turn_id: turnId } = query
          const types = yield* parseEventTypes(query.types)
          if (!negotiated(exchange)) {
            const page = { after, limit, types, turnId }
            const { items, ...rest } = yield* log.storedPage(principal, sessionId, page)
            return pageOf(items, rest)
          }
          return yield* stream(streams, exchange, principal, {
            of: "session",
            id: sessionId,
            query,
            subscribe: (from, writer) => {
              const request = { after: from, types, turnId, batch: limit, deltas: deltas ? writer.delta : undefined }
              const subscribed = feed.subscribe(principal, sessionId, request, writer.sink)
              // A caller who may not read the session has failed by then, so nobody else makes a node listen to another.
              return deltas && relay !== undefined
                ? Effect.zipLeft(subscribed, relay.follow(SessionId.make(sessionId)))
                : subscribed
            },
            mayRead: (caller, cursor) => log.open(caller, sessionId, cursor)
          })
        })

        const answerWorkspace = fn("EventStreams.answerWorkspace")(function* (
          exchange: Exchange,
          principal: Principal,
          workspaceId: string,
          query: WorkspaceQuery
        ) {
          const { after, limit, project_id: projectId } = query
          const label = labelOf(query.label)
          const types = yield* parseWorkspaceTypes(query.types)
          if (!negotiated(exchange)) {
            const page = { after, limit, types, projectId, label }
            const { entries, ...rest } = yield* workspaceLog.storedPage(principal, workspaceId, page)
            return pageOf(entries.map(({ envelope, seq }) => `{"position":${seq},"event":${envelope}}`).join(","), rest)
          }
          return yield* stream(streams, exchange, principal, {
            of: "workspace",
            id: workspaceId,
            query,
            subscribe: (from, writer) => {
              const request = { after: from, types, projectId, label, batch: limit }
              return workspaceFeed.subscribe(principal, workspaceId, request, writer.sink)
            },
            mayRead: (caller, cursor) => workspaceLog.open(caller, workspaceId, cursor)
          })
        })

        return EventStreams.of({ answer, answerWorkspace, routesOfNodes: relay === undefined ? [] : [relay.route] })
      })
    )
}

/** A log as a stream reads it. */
interface Source {
  readonly of: "session" | "workspace"
  readonly id: string
  readonly query: { readonly after?: number; readonly max_seconds: number }
  readonly subscribe: (
    after: number | undefined,
    writer: StreamWriter
  ) => Effect.Effect<Subscription, Unreadable, Scope.Scope>
  /** Fails when the caller would be refused the log now. */
  readonly mayRead: (caller: Principal, cursor: number) => Effect.Effect<unknown, Unreadable>
}

/** True for a request that is answered with a stream. A cache has to tell the two answers apart. */
const negotiated = (exchange: Exchange): boolean => {
  const { vary } = exchange.headers
  exchange.headers["vary"] = vary === undefined ? "Accept" : `${vary}, Accept`
  return acceptsStream(exchange)
}

const pageOf = (items: string, rest: object): Reply =>
  Reply.jsonText(200, `{"items":[${items}],${JSON.stringify(rest).slice(1)}`)

const labelOf = (text: string | undefined) => {
  if (text === undefined) return undefined
  const end = text.indexOf("=")
  return { name: text.slice(0, end), value: text.slice(end + 1) }
}

/** The streams of this process, and the services that they need. */
interface Streams {
  readonly options: StreamOptions
  readonly bell: Bell["Type"]
  readonly authentication: Authentication["Type"]
  readonly shutdown: Shutdown["Type"]
  /** Takes one of the seats that a principal has on a log. */
  readonly takeSeat: TakeSeat
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
  source: Source
) {
  const { open, options, shutdown } = streams
  const rung = yield* rings(streams.bell, accessTopic(principal.accountId))
  const after = yield* cursorOf(exchange, source.query.after)
  yield* takeSeat(streams, source, principal)
  const ended = yield* Deferred.make<EndReason>()
  // Only the first reason counts.
  const end = (reason: EndReason) => Deferred.unsafeDone(ended, Effect.succeed(reason))
  const writer = new StreamWriter(exchange.response, () => end("slow_consumer"), Duration.toMillis(options.patience))
  const subscription = yield* Effect.acquireRelease(source.subscribe(after, writer), ({ close }) => Effect.sync(close))
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
  const check = Effect.flatMap(mayReadOn(streams, exchange, source, subscription.cursor), (mayRead) =>
    Effect.sync(() => mayRead || end("refused"))
  )
  yield* inEachHeartbeat(streams, check)
  // Closed before the look, so that a ring during it is not missed.
  yield* Effect.forkScoped(Effect.forever(rung.await.pipe(Effect.zipRight(rung.close), Effect.zipRight(check))))
  const reason = yield* Effect.timeoutTo(Deferred.await(ended), {
    duration: Duration.seconds(clamp(source.query.max_seconds)),
    onSuccess: (given): EndReason => given,
    onTimeout: (): EndReason => "max_seconds"
  })
  writer.end(reason, subscription.cursor())
  return new Reply(200)
}, Effect.scoped)

const seatOf = (id: string, principal: Principal): string => `${id} ${principal.accountId} ${keyOf(principal) ?? ""}`

/** Takes one of the places for streams, until the scope ends. */
const takeSeat = Effect.fnUntraced(function* (streams: Streams, { id, of }: Source, principal: Principal) {
  const { perSession } = streams.options
  if (perSession === null || (yield* streams.takeSeat(seatOf(id, principal), perSession))) return
  return yield* tooManyStreams(of, perSession)
})

/** Does something once in each heartbeat. Streams that opened in one moment have their turns one after another. */
const inEachHeartbeat = ({ opened, options }: Streams, effect: Effect.Effect<unknown>) => {
  const intervalMs = Duration.toMillis(options.heartbeat)
  const firstMs = (intervalMs * ((opened % turns) + 1)) / turns
  return Effect.forkScoped(Effect.delay(Effect.repeat(effect, Schedule.spaced(intervalMs)), firstMs))
}

/** Opens at each ring of a topic, until the scope closes. */
const rings = (bell: Bell["Type"], topic: string) =>
  Effect.gen(function* () {
    const rung = yield* Effect.makeLatch(false)
    yield* Effect.acquireRelease(
      Effect.sync(() => bell.listen(topic, () => rung.unsafeOpen())),
      (stop) => Effect.sync(stop)
    )
    return rung
  })

/** False when the caller of a stream would be refused now. True when that cannot be determined. */
const mayReadOn = Effect.fnUntraced(
  function* ({ authentication }: Streams, exchange: Exchange, source: Source, cursor: () => number) {
    const caller = yield* authentication.identify(exchange)
    return caller !== undefined && !(yield* Effect.isFailure(source.mayRead(caller, cursor())))
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

const tooManyStreams = (of: Source["of"], limit: number) =>
  new ReinsError({
    code: "rate_limited",
    message: `These credentials already read ${limit} streams of this ${of}. Close one first.`,
    details: { limit },
    retryAfterSeconds: 5
  })
