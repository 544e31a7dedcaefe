import type { ServerResponse } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { type Duration, Effect, Fiber, Option, TestClock } from "effect"
import * as EventStream from "../src/EventStream.js"
import { pause } from "../src/RetryPolicy.js"
import * as Transport from "../src/Transport.js"
import { frame, openStream, serve } from "./ScriptedServer.js"

const serving = (answer: Parameters<typeof serve>[0]) =>
  Effect.acquireRelease(
    Effect.promise(() => serve(answer)),
    (server) => Effect.promise(() => server[Symbol.asyncDispose]())
  )

const seqsOf = (reader: EventStream.EventReader) => Effect.map(reader.pull, (events) => events.map(({ seq }) => seq))

describe("EventReader", () => {
  it.scopedLive("a pull that is interrupted takes nothing from the next", () =>
    Effect.gen(function* () {
      const responses: Array<ServerResponse> = []
      const server = yield* serving((response) => {
        responses.push(response)
        openStream(response)
        response.write(frame(1))
      })
      const reader = EventStream.make(Transport.make({ baseUrl: server.url }), { session_id: "s" })
      assert.deepStrictEqual(yield* seqsOf(reader), [1])
      const seen: Array<number> = []
      for (let seq = 2; seq <= 6; seq++) {
        const given = yield* Effect.fork(seqsOf(reader))
        yield* Effect.yieldNow()
        yield* Fiber.interrupt(given)
        responses[0]?.write(frame(seq))
        seen.push(...(yield* seqsOf(reader)))
      }
      assert.deepStrictEqual(seen, [2, 3, 4, 5, 6])
      assert.strictEqual(server.received.length, 1)
      yield* reader.close
    })
  )

  it.effect("a server that goes on asking for no wait is given the back-off", () =>
    Effect.gen(function* () {
      const waits = yield* Effect.forEach([2, 3, 20], (failures) => Effect.fork(pause(failures, 0)))
      const polled = (after: Duration.DurationInput) =>
        Effect.zipRight(
          TestClock.adjust(after),
          Effect.forEach(waits, (wait) => Effect.map(Fiber.poll(wait), Option.isSome))
        )
      assert.deepStrictEqual(yield* polled("1 millis"), [true, false, false])
      assert.deepStrictEqual(yield* polled("4 seconds"), [true, true, false])
      assert.deepStrictEqual(yield* polled("4 seconds"), [true, true, true])
    })
  )
})
