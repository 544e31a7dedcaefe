import { assert, describe, layer as layerOf } from "@effect/vitest"
import { parseEventTypes } from "@reins/core/Events"
import type { Frame } from "@reins/core/events/Audience"
import { EventFeed } from "@reins/core/events/EventFeed"
import { databases } from "@reins/testing/store/Databases"
import { Chunk, Deferred, Effect, Fiber, Stream } from "effect"
import { append, events, newSession } from "./Sessions.js"

const numbersTo = (last: number) => Array.from({ length: last }, (_, index) => index + 1)

/** A sink that keeps what it is given and can be waited on until the cursor is there. */
const collector = (last: number, wants: (frames: ReadonlyArray<Frame>) => boolean = () => true) =>
  Effect.map(Deferred.make<void>(), (done) => {
    const seen: Array<number> = []
    return {
      seen,
      done: Deferred.await(done),
      sink: (frames: ReadonlyArray<Frame>, cursor: number) => {
        seen.push(...frames.map((frame) => frame.event.seq))
        if (cursor >= last) Deferred.unsafeDone(done, Effect.void)
        return wants(frames)
      }
    }
  })

for (const { layer, name } of databases) {
  describe(`EventFeed on ${name}`, () => {
    layerOf(events(layer), { excludeTestServices: true })((it) => {
      it.effect("a stream gives the log and then what is appended, once and in order", () =>
        Effect.gen(function* () {
          const feed = yield* EventFeed
          const { principal, sessionId } = yield* newSession
          yield* append(sessionId, numbersTo(600))
          const reader = yield* feed
            .stream(principal, sessionId, {})
            .pipe(Stream.take(1000), Stream.runCollect, Effect.fork)
          yield* Effect.forEach(numbersTo(40), () => append(sessionId, numbersTo(10)), { discard: true })
          const seen = Chunk.toReadonlyArray(yield* Fiber.join(reader))
          assert.deepStrictEqual(
            seen.map((event) => event.seq),
            numbersTo(1000)
          )
        })
      )

      it.effect("large events come a few at a time, to those who catch up and to those who are live", () =>
        Effect.gen(function* () {
          const feed = yield* EventFeed
          const { principal, sessionId } = yield* newSession
          const padding = "x".repeat(100_000)
          yield* append(sessionId, numbersTo(30), padding)
          let most = 0
          const count = (frames: ReadonlyArray<Frame>) => {
            most = Math.max(most, frames.length)
            return true
          }
          const early = yield* collector(60, count)
          const late = yield* collector(60, count)
          const request = { batch: 500 }
          const first = yield* feed.subscribe(principal, sessionId, request, early.sink)
          first.resume()
          yield* append(sessionId, numbersTo(30), padding)
          const second = yield* feed.subscribe(principal, sessionId, request, late.sink)
          second.resume()
          yield* early.done
          yield* late.done
          assert.deepStrictEqual([early.seen, late.seen], [numbersTo(60), numbersTo(60)])
          assert.isAtMost(most, 6)
          first.close()
          second.close()
        })
      )

      it.effect("readers that come at different times, pause and filter all get their own events, none twice", () =>
        Effect.gen(function* () {
          const feed = yield* EventFeed
          const { principal, sessionId } = yield* newSession
          yield* append(sessionId, numbersTo(300))
          const writer = yield* Effect.fork(
            Effect.forEach(numbersTo(70), () => append(sessionId, numbersTo(10)), { discard: true })
          )
          const readers = yield* Effect.forEach(numbersTo(12), (index) =>
            Effect.gen(function* () {
              const after = index * 20
              // Every other reader wants no more after each delivery, and goes on a little later.
              let resume = () => {}
              const reader = yield* collector(1000, () => {
                if (index % 2 === 0) return true
                setImmediate(() => resume())
                return false
              })
              const subscription = yield* feed.subscribe(principal, sessionId, { after, batch: 7 * index }, reader.sink)
              resume = subscription.resume
              subscription.resume()
              return { ...reader, after, close: subscription.close }
            })
          )
          yield* Fiber.join(writer)
          for (const reader of readers) {
            yield* reader.done
            reader.close()
            assert.deepStrictEqual(reader.seen, numbersTo(1000).slice(reader.after))
          }
        })
      )

      it.effect("a filtered reader advances beyond the events that it did not ask for", () =>
        Effect.gen(function* () {
          const feed = yield* EventFeed
          const { principal, sessionId } = yield* newSession
          const reader = yield* collector(30)
          const types = yield* parseEventTypes("turn.*")
          const subscription = yield* feed.subscribe(principal, sessionId, { types, batch: 100 }, reader.sink)
          subscription.resume()
          yield* append(sessionId, numbersTo(30))
          yield* reader.done
          assert.deepStrictEqual(reader.seen, [])
          assert.strictEqual(subscription.cursor(), 30)
          subscription.close()
        })
      )

      it.effect("a paused reader is given nothing and holds up nobody", () =>
        Effect.gen(function* () {
          const feed = yield* EventFeed
          const { principal, sessionId } = yield* newSession
          const slow = yield* collector(2000, () => false)
          const fast = yield* collector(2000)
          const slowly = yield* feed.subscribe(principal, sessionId, { batch: 100 }, slow.sink)
          const quickly = yield* feed.subscribe(principal, sessionId, { batch: 100 }, fast.sink)
          slowly.resume()
          quickly.resume()
          yield* Effect.forEach(numbersTo(20), () => append(sessionId, numbersTo(100)), { discard: true })
          yield* fast.done
          assert.deepStrictEqual(fast.seen, numbersTo(2000))
          assert.isBelow(slow.seen.length, 2000)
          assert.deepStrictEqual(slow.seen, numbersTo(slow.seen.length))
          slowly.close()
          quickly.close()
        })
      )

      it.effect("what is committed while nobody reads is there for the next reader", () =>
        Effect.gen(function* () {
          const feed = yield* EventFeed
          const { principal, sessionId } = yield* newSession
          const readUpTo = (last: number) =>
            feed.stream(principal, sessionId, {}).pipe(Stream.take(last), Stream.runCollect)
          yield* append(sessionId, [1])
          yield* readUpTo(1)
          yield* append(sessionId, [2, 3])
          assert.deepStrictEqual(
            [...(yield* readUpTo(3))].map((event) => event.seq),
            [1, 2, 3]
          )
        })
      )
    })
  })
}
