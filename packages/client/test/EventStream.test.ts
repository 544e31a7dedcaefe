import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { Reins, ReinsApiError, ReinsConnectionError, type TypedEvent } from "../src/index.js"
import { type Answer, frame, json, openStream, refuse, serve } from "./ScriptedServer.js"

const afterOf = (url: string): number => Number(new URL(url, "http://x").searchParams.get("after"))

/** Frames of a log in which one of ten events is filtered out, and so is sent as its id alone. */
const logOf = (total: number): Array<Buffer> =>
  Array.from({ length: total }, (_, index) =>
    Buffer.from(
      index % 10 === 9 ? `id: ${index + 1}\n\n` : frame(index + 1, "usage.observed", { text: `é😀 ${index}` })
    )
  )

const take = async (events: AsyncIterable<TypedEvent>, count: number): Promise<Array<number>> => {
  const seen: Array<number> = []
  for await (const event of events) {
    seen.push(event.seq)
    if (seen.length === count) break
  }
  return seen
}

describe("EventStream", () => {
  it("reads exactly 1..N, wherever its connections are cut", { timeout: 120_000 }, async () => {
    const total = 10_000
    const log = logOf(total)
    const expected = log.flatMap((_, index) => (index % 10 === 9 ? [] : [index + 1]))
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ bytes: fc.integer({ min: 400, max: 200_000 }), polite: fc.boolean() }), {
          minLength: 5,
          maxLength: 40
        }),
        async (cuts) => {
          await using server = await serve((response, request, ordinal) => {
            const rest = Buffer.concat(log.slice(afterOf(request.url)))
            const cut = cuts[ordinal]
            response.writeHead(200, { "content-type": "text/event-stream" })
            if (cut === undefined) response.write(rest)
            else if (cut.polite) {
              // Some of the frames again, which a resumed stream must not repeat.
              const seen = Buffer.concat(log.slice(Math.max(0, afterOf(request.url) - 3), afterOf(request.url)))
              response.end(Buffer.concat([seen, rest.subarray(0, cut.bytes)]))
            } else response.write(rest.subarray(0, cut.bytes), () => response.destroy())
          })
          const reins = new Reins({ baseUrl: server.url })
          const seen = await take(reins.sessions.stream({ session_id: "s" }), expected.length)
          assert.deepStrictEqual(seen, expected)
        }
      ),
      { numRuns: 8 }
    )
  })

  it("asks for what follows the last event, also one that was filtered out", async () => {
    const script: Array<Answer> = [
      (response) => response.end(`${frame(8)}id: 12\n\n`),
      (response) => response.end(`event: stream.end\ndata: {"reason":"shutdown","next_after":12}\n\n`),
      (response) => response.destroy(),
      (response) => refuse(response, 503, "shutting_down", { retryable: true, headers: { "retry-after": "0" } }),
      (response) => response.write(frame(13))
    ]
    await using server = await serve((response, request, ordinal) => {
      if (ordinal !== 2 && ordinal !== 3) openStream(response)
      script[ordinal]?.(response, request, ordinal)
    })
    const reins = new Reins({ baseUrl: server.url })
    const events = reins.sessions.stream({
      session_id: "s/1",
      after: 7,
      types: ["turn.*", "usage.observed"],
      turn_id: "t"
    })
    assert.deepStrictEqual(await take(events, 2), [8, 13])
    assert.deepStrictEqual(
      server.received.map((request) => afterOf(request.url)),
      [7, 12, 12, 12, 12]
    )
    const url = new URL(server.received[0]?.url ?? "", "http://x")
    assert.strictEqual(url.pathname, "/api/sessions/s%2F1/events")
    assert.strictEqual(url.searchParams.get("types"), "turn.*,usage.observed")
    assert.strictEqual(url.searchParams.get("turn_id"), "t")
    assert.strictEqual(server.received[0]?.headers.accept, "text/event-stream")
  })

  it("gives the events of a workspace with their positions, and resumes by them", async () => {
    await using server = await serve((response, _, ordinal) => {
      openStream(response)
      if (ordinal === 0) response.end(`${frame(8)}id: 11\n\n`)
      else response.write(frame(12))
    })
    const reins = new Reins({ baseUrl: server.url })
    const seen: Array<number> = []
    for await (const { event, position } of reins.workspaces.stream({
      workspace_id: "w",
      types: ["turn.*", "session.created"],
      project_id: "p",
      label: "a=b"
    })) {
      assert.strictEqual(event.type, "usage.observed")
      seen.push(position)
      if (seen.length === 2) break
    }
    assert.deepStrictEqual(seen, [8, 12])
    assert.deepStrictEqual(
      server.received.map(({ url }) => new URL(url, "http://x")).map(({ pathname, search }) => pathname + search),
      ["", "after=11&"].map(
        (after) => `/api/workspaces/w/events?${after}project_id=p&label=a%3Db&types=turn.*%2Csession.created`
      )
    )
  })

  it("asks again for an event that arrived malformed", async () => {
    await using server = await serve((response, _, ordinal) => {
      openStream(response)
      response.write(ordinal === 0 ? `${frame(1)}id: 2\ndata: {"se\n\n${frame(3)}` : `${frame(2)}${frame(3)}`)
    })
    assert.deepStrictEqual(
      await take(new Reins({ baseUrl: server.url }).sessions.stream({ session_id: "s" }), 3),
      [1, 2, 3]
    )
  })

  for (const [status, code] of [
    [401, "unauthenticated"],
    [403, "forbidden"],
    [404, "not_found"],
    [410, "history_reset_required"]
  ] as const) {
    it(`throws on ${status} ${code}, also when it comes after a break`, async () => {
      await using server = await serve((response, _, ordinal) => {
        if (ordinal > 0) return refuse(response, status, code)
        openStream(response)
        response.end(frame(1))
      })
      const events = new Reins({ baseUrl: server.url }).sessions.stream({ session_id: "s" })
      assert.strictEqual((await events.next()).value?.seq, 1)
      const error = await events.next().catch((error: unknown) => error)
      assert.instanceOf(error, ReinsApiError)
      assert.strictEqual(error.code, code)
      assert.isTrue((await events.next()).done)
    })
  }

  it("throws when the server cannot be reached at first", async () => {
    const server = await serve(() => undefined)
    await server[Symbol.asyncDispose]()
    const events = new Reins({ baseUrl: server.url, maxRetries: 1 }).sessions.stream({ session_id: "s" })
    assert.instanceOf(await events.next().catch((error: unknown) => error), ReinsConnectionError)
  })

  it("throws when the answer is not an event stream", async () => {
    await using server = await serve((response) => json(response, 200, {}))
    const events = new Reins({ baseUrl: server.url, maxRetries: 0 }).sessions.stream({ session_id: "s" })
    const error = await events.next().catch((error: unknown) => error)
    assert.instanceOf(error, ReinsConnectionError)
    assert.strictEqual(error.reason, "unreadable")
  })

  it("an abort ends a waiting loop with the reason and closes the connection", async () => {
    let close = () => {}
    const closed = new Promise<void>((resolve) => {
      close = resolve
    })
    await using server = await serve((response) => {
      response.on("close", close)
      openStream(response)
      response.write(frame(1))
    })
    const controller = new AbortController()
    const events = new Reins({ baseUrl: server.url }).sessions.stream(
      { session_id: "s" },
      { signal: controller.signal }
    )
    assert.strictEqual((await events.next()).value?.seq, 1)
    const next = events.next().catch((error: unknown) => error)
    const reason = new Error("enough")
    controller.abort(reason)
    assert.strictEqual(await next, reason)
    await closed
    assert.strictEqual(server.received.length, 1)
  })

  it("leaving ends also a read that is under way", async () => {
    await using server = await serve((response) => openStream(response))
    const events = new Reins({ baseUrl: server.url }).sessions.stream({ session_id: "s" })
    const next = events.next()
    await server.count(1)
    assert.isTrue((await events.return?.())?.done)
    assert.isTrue((await next).done)
  })

  it("gives the words that come before their event to who asks for them, and moves on by events alone", async () => {
    const delta = { session_id: "sess_1", part_key: "text:m", kind: "text", offset: 0, text: "Hel" }
    await using server = await serve((response, _, ordinal) => {
      openStream(response)
      response.write(`event: message.delta\ndata: ${JSON.stringify(delta)}\n\n${frame(ordinal + 1)}`)
      if (ordinal === 0) response.end()
    })
    const heard: Array<unknown> = []
    const events = new Reins({ baseUrl: server.url }).sessions.stream({
      session_id: "s",
      onDelta: (given) => heard.push(given)
    })
    assert.deepStrictEqual([(await events.next()).value?.seq, (await events.next()).value?.seq], [1, 2])
    await events.return?.()
    assert.deepStrictEqual(heard, [delta, delta])
    assert.deepStrictEqual(
      server.received.map(({ url }) => url),
      ["/api/sessions/s/events?after=0&deltas=true", "/api/sessions/s/events?after=1&deltas=true"]
    )

    const deaf = new Reins({ baseUrl: server.url }).sessions.stream({ session_id: "s" })
    await deaf.next()
    await deaf.return?.()
    assert.strictEqual(server.received.at(-1)?.url, "/api/sessions/s/events?after=0")
  })

  it("reads no faster than the loop does", async () => {
    let produced = 0
    const body = new ReadableStream<Uint8Array>(
      {
        // Asked for a chunk only when the client reads and there is none.
        pull: (controller) => controller.enqueue(Buffer.from(frame(++produced)))
      },
      { highWaterMark: 0 }
    )
    const answer = new Response(body, { headers: { "content-type": "text/event-stream" } })
    const reins = new Reins({ baseUrl: "http://127.0.0.1", fetch: () => Promise.resolve(answer) })
    const events = reins.sessions.stream({ session_id: "s" })
    for (let taken = 1; taken <= 200; taken++) {
      assert.strictEqual((await events.next()).value?.seq, taken)
      assert.strictEqual(produced, taken)
    }
    await events.return?.()
  })
})
