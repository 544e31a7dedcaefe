import type { IncomingMessage, ServerResponse } from "node:http"
import { SessionId } from "@reins/base/domain/Ids"
import { MessageDelta } from "@reins/base/domain/MessageDelta"
import { notFound } from "@reins/base/domain/ReinsError"
import { KeyRing } from "@reins/base/secrets/KeyRing"
import { EventFeed } from "@reins/core/events/EventFeed"
import { Nodes } from "@reins/core/placement/Nodes"
import { Placements } from "@reins/core/placement/Placements"
import { Bell, sessionTopic } from "@reins/core/store/Bell"
import { Journal } from "@reins/core/store/Journal"
import * as Loop from "@reins/core/store/Loop"
import { Clock, Effect, Fiber, FiberSet, Option, Schema, type Scope } from "effect"
import type { Exchange } from "./http/Exchange.js"
import { away } from "./http/middleware/Forward.js"
import { sealOf } from "./http/middleware/ForwardSeal.js"
import { requestToNode } from "./http/middleware/NodeRequest.js"
import { headerLines, Reply } from "./http/Reply.js"
import type { Route } from "./http/Route.js"
import { Shutdown, shuttingDown } from "./Shutdown.js"

/** The way of deltas between nodes. */
export interface DeltaRelay {
  /**
   * Gives the readers of this process the deltas of a session, whichever node has it, until the scope closes. All readers of a session share one
   * stream between the nodes, which the last of them ends. Nothing of it delays or fails a reader, who misses some deltas at worst.
   */
  readonly follow: (sessionId: SessionId) => Effect.Effect<void, never, Scope.Scope>
  /** Tells another node what the agents of this one say. */
  readonly route: Route
}

/** The time between two signs of life on a stream that nobody says anything on, in milliseconds. */
const beatMs = 5000
/** The time without one after which a stream counts as broken, in milliseconds. */
const silenceMs = 3 * beatMs
/** The shortest time between two looks for the node of a session, in milliseconds. */
const pauseMs = 100
/** The longest time between two looks for the node of a session that is on none, in milliseconds. */
const lookMs = 5000
/** The time for which the proof in a request for a stream is good, in milliseconds. */
const proofMs = 30_000

const pathOf = (sessionId: string): `/${string}` => `/internal/sessions/${sessionId}/deltas`

/** Relays deltas between the nodes of an installation. One machine has none of it. */
export const relayingDeltas: Effect.Effect<
  DeltaRelay,
  never,
  Bell | EventFeed | Journal | KeyRing | Nodes | Placements | Shutdown | Scope.Scope
> = Effect.gen(function* () {
  const departures = yield* leaving
  return { follow: yield* following(departures), route: yield* telling(departures) }
})

/** Tells when a session leaves this process: it is given away, or the process may no longer act for its node. */
interface Departures {
  /** A latch that opens when the session leaves while the scope is open. */
  readonly latch: (sessionId: SessionId) => Effect.Effect<Effect.Latch, never, Scope.Scope>
}

const leaving = Effect.gen(function* () {
  const journal = yield* Journal
  const nodes = yield* Nodes
  const placements = yield* Placements
  const waiting = new Map<SessionId, Set<Effect.Latch>>()

  const left = (sessionId: SessionId) => {
    for (const latch of waiting.get(sessionId) ?? []) latch.unsafeOpen()
  }
  yield* placements.onPlaced((sessionId, node) =>
    node === nodes.self ? Effect.void : journal.afterCommit(Effect.sync(() => left(sessionId)))
  )
  yield* nodes.onLost(
    Effect.sync(() => {
      for (const sessionId of waiting.keys()) left(sessionId)
    })
  )
  const latch: Departures["latch"] = (sessionId) =>
    Effect.acquireRelease(
      Effect.sync(() => {
        const latches = waiting.get(sessionId) ?? new Set()
        const own = Effect.unsafeMakeLatch(false)
        waiting.set(sessionId, latches.add(own))
        return own
      }),
      (own) =>
        Effect.sync(() => {
          const latches = waiting.get(sessionId)
          latches?.delete(own)
          if (latches?.size === 0) waiting.delete(sessionId)
        })
    )
  return { latch } satisfies Departures
})

/** The streams from other nodes, one for each session that has readers here. */
const following = Effect.fnUntraced(function* (departures: Departures) {
  const bell = yield* Bell
  const nodes = yield* Nodes
  const placements = yield* Placements
  const hear = yield* hearing
  const run = yield* FiberSet.makeRuntime<never>()
  const open = new Map<SessionId, { readers: number; readonly fiber: Fiber.RuntimeFiber<void> }>()

  /** Listens where the session is until it has left. False when it is on no node that can be heard. */
  const listen = Effect.fnUntraced(function* (sessionId: SessionId) {
    // Before the look at the place, so that a departure during it is not missed.
    const departed = yield* departures.latch(sessionId)
    const place = yield* placements.at(sessionId)
    if (place.kind === "here" && nodes.holds()) return yield* Effect.as(departed.await, true)
    const located = place.kind === "elsewhere" ? yield* nodes.locate(place.node) : undefined
    return located?.kind === "at" && (yield* hear(sessionId, located.address))
  }, Effect.scoped)

  const follower = (sessionId: SessionId) =>
    Loop.run({
      failure: "the node of a session cannot be looked up",
      topics: [sessionTopic(sessionId)],
      everyMs: lookMs,
      round: Effect.flatMap(listen(sessionId), (wasHeard) =>
        Effect.as(Effect.sleep(pauseMs), wasHeard ? { waitMs: 0 } : undefined)
      )
    }).pipe(Effect.provideService(Bell, bell))

  const enter = (sessionId: SessionId) =>
    Effect.sync(() => {
      const entry = open.get(sessionId) ?? { readers: 0, fiber: run(follower(sessionId)) }
      entry.readers++
      open.set(sessionId, entry)
      return entry
    })
  return (sessionId: SessionId) =>
    Effect.asVoid(
      Effect.acquireRelease(enter(sessionId), (entry) =>
        Effect.sync(() => {
          entry.readers--
          if (entry.readers > 0) return
          open.delete(sessionId)
          run(Effect.asVoid(Fiber.interrupt(entry.fiber)))
        })
      )
    )
})

const decodeDelta = Schema.decodeUnknownOption(Schema.parseJson(MessageDelta))

/** Hears what the agent of a session says on another node until the stream ends, in whatever way. True when there was one. */
const hearing = Effect.gen(function* () {
  const feed = yield* EventFeed
  const nodes = yield* Nodes
  const seal = sealOf(yield* KeyRing)
  const node = nodes.self ?? ""

  return Effect.fnUntraced(function* (sessionId: SessionId, address: string) {
    const until = (yield* Clock.currentTimeMillis) + proofMs
    const url = `${pathOf(sessionId)}?until=${until}`
    const proof = seal.make({ method: "GET", url }, { node, clientAddress: node, isForApps: false })
    return yield* Effect.async<boolean>((resume) => {
      let wasHeard = false
      const end = () => resume(Effect.sync(() => wasHeard))
      const take = (answer: IncomingMessage) => {
        wasHeard = answer.statusCode === 200
        if (!wasHeard) return out.destroy()
        eachLine(answer, (line) => {
          const delta = Option.getOrUndefined(decodeDelta(line))
          if (delta?.session_id === sessionId) feed.repeat(delta)
        })
        answer.once("close", end)
      }
      const options = { headers: { [seal.header]: proof }, agent: false, timeout: silenceMs }
      const out = requestToNode(new URL(url, address), options, take)
      out.once("timeout", () => out.destroy())
      out.once("error", end)
      out.once("close", end)
      out.end()
      return Effect.sync(() => out.destroy())
    })
  })
})

/** Calls back with each line of a text that is not empty, once it is whole. */
const eachLine = (text: IncomingMessage, take: (line: string) => void): void => {
  let rest = ""
  text.setEncoding("utf8")
  text.on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n")
    rest = lines.pop() ?? ""
    for (const line of lines) if (line !== "") take(line)
  })
}

/** The other end: what the agents of this node say, as lines of JSON, for nodes of the installation alone. */
const telling = Effect.fnUntraced(function* (departures: Departures) {
  const feed = yield* EventFeed
  const nodes = yield* Nodes
  const placements = yield* Placements
  const shutdown = yield* Shutdown
  const seal = sealOf(yield* KeyRing)

  const isFromNode = (exchange: Exchange, now: number): boolean => {
    const until = Number(new URLSearchParams(exchange.query).get("until"))
    return seal.read(exchange) !== undefined && until > now && until <= now + 2 * proofMs
  }

  /** Writes until the other node cannot keep up for long, or the stream is interrupted. */
  const tell = (sessionId: SessionId, response: ServerResponse) =>
    Effect.async<void>((resume) => {
      let wasFull = false
      const beat = setInterval(() => {
        // A node that takes nothing for a whole beat is looked after no more. It comes again when it can.
        if (response.writableNeedDrain && wasFull) return resume(Effect.sync(() => response.destroy()))
        wasFull = response.writableNeedDrain
        if (!wasFull) response.write("\n")
      }, beatMs)
      const stopHearing = feed.overhear(sessionId, (delta) => {
        // The words come with the events of the log as well.
        if (!response.writableNeedDrain) response.write(`${JSON.stringify(delta)}\n`)
      })
      return Effect.sync(() => {
        clearInterval(beat)
        stopHearing()
      })
    })

  const isSession = Schema.is(SessionId)
  const answer: Route["answer"] = Effect.fnUntraced(function* (exchange, { session_id: sessionId }) {
    const { response } = exchange
    if (!isSession(sessionId) || !isFromNode(exchange, yield* Clock.currentTimeMillis)) return yield* notFound()
    if (yield* shutdown.hasBegun) return yield* shuttingDown
    const departed = yield* departures.latch(sessionId)
    const place = yield* placements.at(sessionId)
    if (place.kind !== "here" || !nodes.holds()) return yield* away("moved")
    response.writeHead(200, headerLines(exchange, { "content-type": "application/x-ndjson", connection: "close" }))
    response.flushHeaders()
    yield* Effect.raceAll([tell(sessionId, response), departed.await, shutdown.begun])
    response.end()
    return new Reply(200)
  }, Effect.scoped)
  return { method: "GET", path: pathOf(":session_id"), mutates: false, answer } satisfies Route
})
