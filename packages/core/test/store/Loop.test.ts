import { assert, describe, it } from "@effect/vitest"
import { Bell } from "@reins/core/store/Bell"
import * as Loop from "@reins/core/store/Loop"
import { Effect, Layer, Logger, Runtime, TestClock, TestContext } from "effect"
import * as fc from "fast-check"

const everyMs = 5_000

/** A loop that counts its rounds. `during` is done in each of them. */
const counting = (
  during: (round: number) => Effect.Effect<Loop.Pause | undefined> = () => Effect.succeed(undefined)
) => {
  const counted = { rounds: 0 }
  const loop: Loop.Loop = {
    failure: "the rounds could not be counted",
    topics: ["one", "two"],
    everyMs,
    round: Effect.suspend(() => during(++counted.rounds))
  }
  return { counted, loop }
}

const ring = (topic: string) => Effect.flatMap(Bell, (bell) => Effect.zipRight(bell.ring(topic), TestClock.adjust(0)))

/** A loop that has begun, on a clock that stands still until it is moved. */
const started = (loop: Loop.Loop) => Effect.zipRight(Loop.start(loop), TestClock.adjust(0))

describe("A loop", () => {
  it.scoped("begins at once, and goes on at each ring of its topics or after the longest time", () =>
    Effect.gen(function* () {
      const runtime = yield* Effect.runtime()
      const step = fc.oneof(
        fc.record({ topic: fc.constantFrom("one", "two", "three") }),
        fc.record({ ms: fc.constantFrom(1, 700, 2_500, 4_999, 5_000) })
      )
      const play = (steps: ReadonlyArray<{ readonly topic: string } | { readonly ms: number }>) =>
        Effect.gen(function* () {
          const { counted, loop } = counting()
          yield* started(loop)
          let rounds = 1
          let leftMs = everyMs
          for (const step of steps) {
            if ("topic" in step) yield* ring(step.topic)
            else yield* TestClock.adjust(step.ms)
            if ("topic" in step && step.topic !== "three") {
              rounds++
              leftMs = everyMs
            }
            if ("ms" in step) leftMs -= step.ms
            if (leftMs <= 0) {
              rounds++
              leftMs += everyMs
            }
            assert.strictEqual(counted.rounds, rounds)
          }
        }).pipe(Effect.scoped, Effect.provide(Layer.merge(Bell.layer, TestContext.TestContext)))
      yield* Effect.promise(() =>
        fc.assert(
          fc.asyncProperty(fc.array(step, { maxLength: 10 }), (steps) => Runtime.runPromise(runtime)(play(steps))),
          { numRuns: 20 }
        )
      )
    })
  )

  it.scoped("misses no ring of the time in which it works, and does what it has missed in one round", () =>
    Effect.gen(function* () {
      const bell = yield* Bell
      const { counted, loop } = counting((round) =>
        Effect.as(round === 1 ? Effect.zipRight(bell.ring("one"), bell.ring("two")) : Effect.void, undefined)
      )
      yield* started(loop)
      assert.strictEqual(counted.rounds, 2)
    }).pipe(Effect.provide(Bell.layer))
  )

  it.scoped("waits for as long as a round says, and never for longer than its longest time", () =>
    Effect.gen(function* () {
      const pauses = [0, 0, 300, Number.POSITIVE_INFINITY, -1]
      const { counted, loop } = counting((round) => Effect.succeed({ waitMs: pauses[round - 1] ?? everyMs }))
      yield* started(loop)
      assert.strictEqual(counted.rounds, 3)
      yield* TestClock.adjust(300)
      assert.strictEqual(counted.rounds, 4)
      yield* TestClock.adjust(everyMs)
      assert.strictEqual(counted.rounds, 6)
    }).pipe(Effect.provide(Bell.layer))
  )

  it.scoped("tells of a defect in one line, and goes on a second later", () =>
    Effect.gen(function* () {
      const lines: Array<unknown> = []
      const logger = Logger.make(({ annotations, message }) => {
        lines.push([message, ...annotations])
      })
      const { counted, loop } = counting((round) =>
        round === 1 ? Effect.dieMessage("a lost file") : Effect.succeed(undefined)
      )
      yield* started(loop).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, logger)))
      assert.lengthOf(lines, 1)
      assert.include(JSON.stringify(lines), "the rounds could not be counted")
      assert.include(JSON.stringify(lines), "a lost file")
      yield* ring("one")
      yield* TestClock.adjust(999)
      assert.strictEqual(counted.rounds, 1)
      yield* TestClock.adjust(1)
      assert.strictEqual(counted.rounds, 2)
      assert.lengthOf(lines, 1)
    }).pipe(Effect.provide(Bell.layer))
  )

  it.effect("ends with its scope, and listens no more", () =>
    Effect.gen(function* () {
      const { counted, loop } = counting()
      let listeners = 0
      const bell = yield* Bell
      const watched = Bell.of({
        ...bell,
        listen: (topic, listener) => {
          listeners++
          const stop = bell.listen(topic, listener)
          return () => {
            listeners--
            stop()
          }
        }
      })
      yield* Effect.scoped(started(loop)).pipe(Effect.provideService(Bell, watched))
      assert.strictEqual(listeners, 0)
      yield* ring("one")
      yield* TestClock.adjust(everyMs)
      assert.strictEqual(counted.rounds, 1)
    }).pipe(Effect.provide(Bell.layer))
  )
})
