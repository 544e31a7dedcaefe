import { assert, describe, it } from "@effect/vitest"
import { limited } from "@reins/base/base/Limited"
import { Deferred, Effect, Exit, Fiber, Option, Ref, RuntimeFlags, RuntimeFlagsPatch } from "effect"

/** The ways in which interruption is off: in a region, and in a fiber that was started so, as that of a request that changes something is. */
const uninterrupted = {
  "an uninterruptible region": Effect.uninterruptible,
  "a fiber without interruption": Effect.withRuntimeFlagsPatch(RuntimeFlagsPatch.disable(RuntimeFlags.Interruption))
}

describe("work under a limit", () => {
  it.live("ends with the limit and what it holds is released, where interruption is on and where it is off", () =>
    Effect.gen(function* () {
      for (const region of [Effect.interruptible, ...Object.values(uninterrupted)]) {
        const released = yield* Deferred.make<void>()
        const work = Effect.acquireRelease(Effect.void, () => Deferred.succeed(released, undefined))
        const found = yield* region(
          limited(Effect.scoped(Effect.zipRight(work, Effect.never)), Effect.timeoutOption("10 millis"))
        )
        assert.isTrue(Option.isNone(found))
        assert.isTrue(yield* Deferred.isDone(released))
      }
    })
  )

  for (const [where, region] of Object.entries(uninterrupted)) {
    it.live(`in ${where} goes on to its end when the fiber is interrupted, again and again`, () =>
      Effect.gen(function* () {
        const begun = yield* Deferred.make<void>()
        const go = yield* Deferred.make<string>()
        const given = yield* Ref.make("")
        const work = Effect.zipRight(Deferred.succeed(begun, undefined), Deferred.await(go))
        const after = Effect.flatMap(limited(work, Effect.timeout("1 minute")), (text) => Ref.set(given, text))
        const fiber = yield* Effect.fork(region(after))
        yield* Deferred.await(begun)
        for (let count = 0; count < 2; count++) {
          yield* Fiber.interruptFork(fiber)
          yield* Effect.yieldNow()
        }
        yield* Deferred.succeed(go, "whole")
        yield* Fiber.await(fiber)
        assert.strictEqual(yield* Ref.get(given), "whole")
      })
    )
  }

  it.live("is ended by an interruption where that is on, and what it holds is released before", () =>
    Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      const released = yield* Ref.make(false)
      const work = Effect.onInterrupt(Effect.zipRight(Deferred.succeed(begun, undefined), Effect.never), () =>
        Ref.set(released, true)
      )
      const fiber = yield* Effect.fork(limited(work, Effect.timeout("1 minute")))
      yield* Deferred.await(begun)
      assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(fiber)))
      assert.isTrue(yield* Ref.get(released))
    })
  )

  it.live("gives its failure", () =>
    Effect.gen(function* () {
      const failing = limited(Effect.fail("no"), Effect.timeout("1 minute"))
      assert.strictEqual(yield* Effect.flip(Effect.uninterruptible(failing)), "no")
    })
  )
})
