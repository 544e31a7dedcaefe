import { connect, type Socket } from "node:net"
import { assert, describe, layer, it as plain } from "@effect/vitest"
import { MessageId, newId, TurnId } from "@reins/base/domain/Ids"
import type { MessageDelta } from "@reins/base/domain/MessageDelta"
import { EventFeed } from "@reins/core/events/EventFeed"
import { streamDefaults } from "@reins/server/EventStreams"
import { Server } from "@reins/server/Server"
import type { Block } from "@reins/testing/process/Blocks"
import { Deferred, Effect, Fiber, Schedule, TestClock } from "effect"
import { Caller, codeOf, newCaller, send, service } from "./Service.js"
import { append, newSession, openStream } from "./Sessions.js"
import { serviceWith } from "./StreamService.js"

const isId = (id: number) => (block: Block) => block.id === String(id)
const isEnd = (block: Block) => block.event === "stream.end"
const idsOf = (blocks: ReadonlyArray<Block>) =>
  blocks.flatMap((block) => (block.id === undefined ? [] : [Number(block.id)]))
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index)

layer(service(), { excludeTestServices: true })("a stream of events", (it) => {
  it.effect("begins at once, gives the log and then what is added, each once with its id, type and envelope", () =>
    Effect.gen(function* () {
      const { bearer } = yield* Caller
      const { events, sessionId, watermark } = yield* newSession
      yield* append(sessionId, 5)
      const stream = yield* openStream(events, bearer)
      assert.strictEqual(stream.status, 200)
      assert.strictEqual(stream.headers.get("content-type"), "text/event-stream")
      assert.strictEqual(stream.headers.get("cache-control"), "no-cache, no-transform")
      assert.strictEqual(stream.headers.get("x-accel-buffering"), "no")
      assert.strictEqual(stream.headers.get("x-content-type-options"), "nosniff")
      assert.isNotNull(stream.headers.get("x-request-id"))
      const replayed = yield* stream.until(isId(watermark + 5))
      assert.strictEqual(replayed[0]?.text, `retry: 2000\n: watermark ${watermark + 5}`)
      assert.deepStrictEqual(idsOf(replayed), range(1, watermark + 5))
      yield* append(sessionId, 3)
      const live = yield* stream.until(isId(watermark + 8))
      assert.deepStrictEqual(idsOf(live), range(watermark + 6, watermark + 8))
      const page = yield* send("GET", `${events}?after=${watermark + 7}`, { headers: bearer })
      assert.nestedPropertyVal(page.json, "items[0].seq", watermark + 8)
      assert.deepStrictEqual(JSON.parse(live.at(-1)?.data ?? ""), Object(page.json).items[0])
      assert.strictEqual(live.at(-1)?.event, "diagnostic.reported")
      stream.close()
    })
  )

  it.effect("with deltas also gives what is whispered, without an id, to those alone who asked for it", () =>
    Effect.gen(function* () {
      const { bearer } = yield* Caller
      const { events, sessionId, watermark } = yield* newSession
      const delta: MessageDelta = {
        session_id: sessionId,
        turn_id: yield* newId(TurnId),
        message_id: yield* newId(MessageId),
        part_key: "text:m",
        kind: "text",
        offset: 3,
        text: "Words\n\nof two paragraphs."
      }
      const told = (query: string) =>
        Effect.gen(function* () {
          const stream = yield* openStream(`${events}?after=${watermark - 1}${query}`, bearer)
          yield* stream.until(isId(watermark))
          return { query, stream }
        })
      const streams = yield* Effect.forEach(
        [
          "&deltas=true",
          "",
          "&deltas=false",
          `&deltas=1&turn_id=${delta.turn_id}`,
          `&deltas=1&turn_id=${yield* newId(TurnId)}`,
          "&deltas=on&types=message.*",
          "&deltas=on&types=turn.*"
        ],
        told
      )
      yield* (yield* EventFeed).whisper(delta)
      yield* append(sessionId, 1)
      const heard = yield* Effect.forEach(streams, ({ stream }) =>
        Effect.map(stream.until(isId(watermark + 1)), (blocks) => {
          stream.close()
          assert.deepStrictEqual(idsOf(blocks), [watermark + 1])
          return blocks.filter(({ event }) => event === "message.delta").map(({ data }) => JSON.parse(data ?? ""))
        })
      )
      assert.deepStrictEqual(heard, [[delta], [], [], [delta], [], [delta], []])
      const page = yield* send("GET", `${events}?deltas=true`, { headers: bearer })
      assert.notInclude(page.text, "message.delta")
      const wrong = yield* send("GET", `${events}?deltas=perhaps`, { headers: bearer })
      assert.strictEqual(wrong.status, 422)
      assert.nestedPropertyVal(wrong.json, "detail[0].type", "bool_parsing")
    })
  )

  it.effect("goes on after Last-Event-ID, which wins over after if it is further on", () =>
    Effect.gen(function* () {
      const { bearer } = yield* Caller
      const { events, sessionId, watermark } = yield* newSession
      yield* append(sessionId, 9)
      const newest = watermark + 9
      for (const [query, lastId, from] of [
        ["", "4", 5],
        ["?after=2", "6", 7],
        ["?after=6", "6", 7],
        ["?after=3", "", 4]
      ] as const) {
        const stream = yield* openStream(events + query, {
          ...bearer,
          ...(lastId !== "" && { "last-event-id": lastId })
        })
        assert.deepStrictEqual(idsOf(yield* stream.until(isId(newest))), range(from, newest))
        stream.close()
      }
      for (const [query, lastId] of [
        ["?after=6", "5"],
        ["", "x"],
        ["", "-1"],
        ["", "1.5"],
        ["", "1e0"],
        ["", "0x1"],
        ["", "1 2"],
        ["", "9".repeat(30)],
        ["", String(newest + 1)]
      ] as const) {
        const refused = yield* send("GET", events + query, {
          headers: { ...bearer, accept: "text/event-stream", "last-event-id": lastId }
        })
        assert.deepStrictEqual([refused.status, codeOf(refused)], [400, "invalid_cursor"], lastId)
      }
      for (const after of [-1, newest + 1, 2 ** 53 - 1]) {
        const refused = yield* send("GET", `${events}?after=${after}`, {
          headers: { ...bearer, accept: "text/event-stream" }
        })
        assert.deepStrictEqual([refused.status, codeOf(refused)], [400, "invalid_cursor"])
      }
      const beyond = ["9".repeat(16), `-${"9".repeat(20)}`, "9".repeat(400)].map((after) => `?after=${after}`)
      for (const query of [...beyond, "?after=x", "?after=1.5", "?limit=0", "?limit=1001", "?max_seconds=x"]) {
        const refused = yield* send("GET", events + query, { headers: { ...bearer, accept: "text/event-stream" } })
        assert.strictEqual(refused.status, 422, query)
      }
    })
  )

  it.effect("gives the events of one turn alone where that is asked for, and moves on past the others", () =>
    Effect.gen(function* () {
      const { bearer } = yield* Caller
      const { events, sessionId, watermark } = yield* newSession
      const turnId = yield* newId(TurnId)
      yield* append(sessionId, 2)
      yield* append(sessionId, 2, 10, turnId)
      yield* append(sessionId, 1)
      const stream = yield* openStream(`${events}?turn_id=${turnId}&limit=1`, bearer)
      const blocks = yield* stream.until(isId(watermark + 5))
      const given = blocks.filter(({ data }) => data !== undefined)
      assert.deepStrictEqual(idsOf(given), [watermark + 3, watermark + 4])
      assert.strictEqual(blocks.at(-1)?.text, `id: ${watermark + 5}`)
      stream.close()
    })
  )

  it.effect("that holds nothing new begins at once all the same", () =>
    Effect.gen(function* () {
      const { bearer } = yield* Caller
      const { events, watermark } = yield* newSession
      const stream = yield* openStream(`${events}?after=${watermark}`, { ...bearer, "last-event-id": `${watermark}` })
      const blocks = yield* stream.until(() => true)
      assert.deepStrictEqual(blocks, [
        { id: undefined, event: undefined, data: undefined, text: `retry: 2000\n: watermark ${watermark}` }
      ])
      assert.strictEqual(stream.headers.get("vary"), "Accept")
      assert.strictEqual(stream.headers.get("connection"), "close")
      stream.close()
    })
  )

  it.effect("ends by itself after max_seconds, at least half a second, and says where to read on", () =>
    Effect.gen(function* () {
      const { bearer } = yield* Caller
      const { events, sessionId, watermark } = yield* newSession
      yield* append(sessionId, 2)
      const stream = yield* openStream(`${events}?max_seconds=0`, bearer)
      const blocks = yield* stream.until(() => false)
      const end = blocks.at(-1)
      assert.strictEqual(end?.event, "stream.end")
      assert.isUndefined(end?.id)
      assert.deepStrictEqual(JSON.parse(end?.data ?? ""), { reason: "max_seconds", next_after: watermark + 2 })
      assert.deepStrictEqual(idsOf(blocks), range(1, watermark + 2))
    })
  )

  it.effect("that is filtered still moves on, by ids alone", () =>
    Effect.gen(function* () {
      const { bearer } = yield* Caller
      const { events, sessionId, watermark } = yield* newSession
      yield* append(sessionId, 4)
      const stream = yield* openStream(`${events}?types=turn.*&after=${watermark}`, bearer)
      const blocks = yield* stream.until(isId(watermark + 4))
      assert.deepStrictEqual(blocks.slice(1), [
        { id: String(watermark + 4), event: undefined, data: undefined, text: `id: ${watermark + 4}` }
      ])
      stream.close()
    })
  )

  it.effect("is refused like a page: 422 for an unknown type, 404 for the session of somebody else", () =>
    Effect.gen(function* () {
      const { bearer } = yield* Caller
      const { events } = yield* newSession
      const other = yield* newCaller()
      const accept = { accept: "text/event-stream" }
      assert.strictEqual((yield* send("GET", `${events}?types=x`, { headers: { ...bearer, ...accept } })).status, 422)
      assert.strictEqual((yield* send("GET", events, { headers: { ...other.bearer, ...accept } })).status, 404)
      assert.strictEqual((yield* send("GET", events, { headers: accept })).status, 401)
    })
  )

  it.effect("cut again and again and resumed by the last id loses and repeats nothing", () =>
    Effect.gen(function* () {
      const { bearer } = yield* Caller
      const { events, sessionId, watermark } = yield* newSession
      const newest = watermark + 1500
      const writer = yield* Effect.fork(Effect.forEach(range(1, 150), () => append(sessionId, 10), { discard: true }))
      const reader = (index: number) =>
        Effect.gen(function* () {
          const seen: Array<number> = []
          while (seen.at(-1) !== newest) {
            const stream = yield* openStream(events, { ...bearer, "last-event-id": String(seen.at(-1) ?? 0) })
            const goal = Math.min(newest, (seen.at(-1) ?? 0) + 37 * index)
            seen.push(...idsOf(yield* stream.until((block) => Number(block.id) >= goal)))
            stream.close()
          }
          assert.deepStrictEqual(seen, range(1, newest))
        })
      yield* Effect.forEach(range(1, 8), reader, { concurrency: "unbounded", discard: true })
      yield* Fiber.join(writer)
    })
  )
})

layer(service({ rateLimit: 600 }), { excludeTestServices: true })("with limits", (it) => {
  it.effect("one caller has at most 8 streams of a session, and gets a place when one ends", () =>
    Effect.gen(function* () {
      const { bearer } = yield* Caller
      const { events, sessionId, watermark } = yield* newSession
      const streams = yield* Effect.forEach(range(1, 8), () => openStream(events, bearer))
      const refused = yield* send("GET", events, { headers: { ...bearer, accept: "text/event-stream" } })
      assert.deepStrictEqual([refused.status, codeOf(refused)], [429, "rate_limited"])
      assert.isAtLeast(Number(refused.headers.get("retry-after")), 1)
      streams[0]?.close()
      const again = yield* Effect.repeat(openStream(events, bearer), { until: ({ status }) => status === 200 })
      yield* append(sessionId, 1)
      assert.strictEqual((yield* again.until(isId(watermark + 1))).at(-1)?.id, String(watermark + 1))
      for (const stream of [...streams, again]) stream.close()
    })
  )
})

/** Streams that beat quickly. */
const lively = () => serviceWith({ ...streamDefaults, heartbeat: "50 millis" })

/** Asks for a stream and takes nothing of the answer but its first bytes. */
const openAndRest = (url: string, events: string, authorization: string) =>
  Effect.async<Socket>((resume) => {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    socket.on("error", () => {})
    socket.write(
      `GET ${events} HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\nauthorization: ${authorization}\r\n\r\n`
    )
    socket.once("data", () => resume(Effect.succeed(socket.pause())))
  })

layer(serviceWith(streamDefaults))("while time passes", (it) => {
  it.effect("a stream beats every 15 seconds and lives for 600, however much more was asked for", () =>
    Effect.gen(function* () {
      const { bearer } = yield* Caller
      const { events, watermark } = yield* newSession
      const stream = yield* openStream(`${events}?after=${watermark}&max_seconds=100000`, bearer)
      yield* stream.until(() => true)
      yield* TestClock.adjust("599 seconds")
      const beats = yield* Effect.replicateEffect(
        stream.until(() => true),
        39
      )
      assert.isTrue(beats.flat().every(({ text }) => text === ": heartbeat"))
      yield* TestClock.adjust("1 second")
      const rest = yield* stream.until(isEnd)
      assert.isAtMost(rest.length, 2)
      assert.deepStrictEqual(JSON.parse(rest.at(-1)?.data ?? ""), { reason: "max_seconds", next_after: watermark })
    })
  )
})

describe("between client and service", () => {
  plain.live("a client that reads again after its patience is told that it was too slow, and where to read on", () =>
    Effect.gen(function* () {
      const { bearer } = yield* Caller
      const { url } = yield* Server
      const { events, sessionId } = yield* newSession
      const socket = yield* openAndRest(url, events, bearer.authorization)
      yield* Effect.forEach(range(1, 40), () => append(sessionId, 10, 50_000), { discard: true })
      // The one seat is free again once the stream has ended.
      const other = yield* Effect.repeat(openStream(`${events}?max_seconds=0.5`, bearer), {
        until: ({ status }) => status === 200
      })
      other.close()
      const text = yield* Effect.async<string>((resume) => {
        let received = ""
        socket.setEncoding("utf8")
        socket.on("data", (chunk) => {
          received += chunk
        })
        socket.on("close", () => resume(Effect.succeed(received)))
        socket.resume()
      })
      const end = /event: stream\.end\ndata: (.*)\n/.exec(text)?.[1] ?? "{}"
      const ids = [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id))
      assert.deepStrictEqual(ids, range(ids[0] ?? 0, ids.at(-1) ?? 0))
      assert.deepStrictEqual(JSON.parse(end), { reason: "slow_consumer", next_after: ids.at(-1) })
    }).pipe(Effect.provide(serviceWith({ ...streamDefaults, perSession: 1, patience: "5 seconds" })))
  )

  plain.live("a stream in which nothing happens beats", () =>
    Effect.gen(function* () {
      const { bearer } = yield* Caller
      const { events, watermark } = yield* newSession
      const stream = yield* openStream(`${events}?after=${watermark}`, bearer)
      const blocks = yield* stream.until((block) => block.text === ": heartbeat")
      assert.strictEqual(blocks.length, 2)
      stream.close()
    }).pipe(Effect.provide(lively()))
  )

  plain.live("a client that does not read is cut off alone, and the log still has everything for it", () =>
    Effect.gen(function* () {
      const { bearer } = yield* Caller
      const { url } = yield* Server
      const { events, sessionId, watermark } = yield* newSession
      const socket = yield* openAndRest(url, events, bearer.authorization)
      const reader = yield* openStream(events, bearer)
      for (const count of range(1, 40)) {
        yield* append(sessionId, 10, 50_000)
        const blocks = yield* reader.until(isId(watermark + 10 * count))
        assert.strictEqual(blocks.at(-1)?.id, String(watermark + 10 * count))
      }
      // Without reading, only what it writes tells a client that nobody is there any more.
      yield* Effect.repeat(
        Effect.sync(() => socket.write("\r\n")),
        { until: () => socket.destroyed, schedule: Schedule.spaced("50 millis") }
      )
      yield* append(sessionId, 1)
      assert.strictEqual((yield* reader.until(isId(watermark + 401))).at(-1)?.id, String(watermark + 401))
      reader.close()
      const page = yield* send("GET", `${events}?after=${watermark}&limit=1000`, { headers: bearer })
      assert.nestedPropertyVal(page.json, "items[0].seq", watermark + 1)
    }).pipe(Effect.provide(serviceWith({ ...streamDefaults, patience: "3 seconds" })))
  )

  plain.live("when the service stops every stream is told so, and where to read on", () =>
    Effect.gen(function* () {
      const last = yield* Deferred.make<Block | undefined>()
      const newest = yield* Effect.gen(function* () {
        const { bearer } = yield* Caller
        const { events, sessionId, watermark } = yield* newSession
        yield* append(sessionId, 3)
        const stream = yield* openStream(events, bearer)
        yield* stream.until(isId(watermark + 3))
        yield* Effect.forkDaemon(Effect.flatMap(stream.until(isEnd), (blocks) => Deferred.succeed(last, blocks.at(-1))))
        return watermark + 3
      }).pipe(Effect.provide(lively()))
      const end = yield* Deferred.await(last)
      assert.strictEqual(end?.event, "stream.end")
      assert.deepStrictEqual(JSON.parse(end?.data ?? ""), { reason: "shutdown", next_after: newest })
    })
  )
})
