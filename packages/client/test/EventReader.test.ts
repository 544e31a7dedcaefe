import type { ServerResponse } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { type Clock, systemClock } from "../src/Clock.js"
import { EventReader } from "../src/EventStream.js"
import { fromPromise } from "../src/effect/EffectMethods.js"
import { delayMs } from "../src/RetryPolicy.js"
import * as Transport from "../src/Transport.js"
import { frame, openStream, serve } from "./ScriptedServer.js"

const serving = (answer: Parameters<typeof serve>[0]) =>
  Effect.acquireRelease(
    Effect.promise(() => serve(answer)),
    (server) => Effect.promise(() => server[Symbol.asyncDispose]())
  )

/** A server that sends one event at each connection, and what it sends later. */
const source = () => {
  const responses: Array<ServerResponse> = []
  const answer = (response: ServerResponse) => {
    responses.push(response)
    openStream(response)
    response.write(frame(1))
  }
  return { answer, send: (seq: number) => responses[0]?.write(frame(seq)) }
}

const seqsOf = (reader: EventReader) => reader.take().map(({ seq }) => seq)

describe("EventReader", () => {
  it("a wait that is aborted takes nothing from the next", async () => {
    const { answer, send } = source()
    await using server = await serve(answer)
    const reader = new EventReader(Transport.make({ baseUrl: server.url }), { session_id: "s" })
    await reader.wait({ clock: systemClock })
    const seen = seqsOf(reader)
    for (let seq = 2; seq <= 6; seq++) {
      const given = new AbortController()
      const waiting = reader.wait({ clock: systemClock, signal: given.signal }).catch((reason: unknown) => reason)
      given.abort("enough")
      assert.strictEqual(await waiting, "enough")
      send(seq)
      await reader.wait({ clock: systemClock })
      seen.push(...seqsOf(reader))
    }
    assert.deepStrictEqual(seen, [1, 2, 3, 4, 5, 6])
    assert.strictEqual(server.received.length, 1)
    reader.close()
  })

  it.scopedLive("a wait whose fiber is interrupted takes nothing from the next", () =>
    Effect.gen(function* () {
      const { answer, send } = source()
      const server = yield* serving(answer)
      const reader = new EventReader(Transport.make({ baseUrl: server.url }), { session_id: "s" })
      const wait = fromPromise((circumstances) => reader.wait(circumstances))
      yield* wait
      const seen = seqsOf(reader)
      for (let seq = 2; seq <= 6; seq++) {
        const given = yield* Effect.fork(wait)
        yield* Effect.yieldNow()
        yield* Fiber.interrupt(given)
        send(seq)
        yield* wait
        seen.push(...seqsOf(reader))
      }
      assert.deepStrictEqual(seen, [1, 2, 3, 4, 5, 6])
      assert.strictEqual(server.received.length, 1)
      reader.close()
    })
  )

  it("a server that goes on asking for no wait is given the back-off", () => {
    const clock: Clock = { ...systemClock, random: () => 0 }
    assert.deepStrictEqual(
      [2, 3, 20].map((failures) => delayMs(failures, 0, clock)),
      [0, 4000, 8000]
    )
    assert.strictEqual(delayMs(20, 0, { ...clock, random: () => 1 }), 6000)
    assert.strictEqual(delayMs(20, 20_000, clock), 20_000)
  })
})
