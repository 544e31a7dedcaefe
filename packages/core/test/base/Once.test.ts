import { assert, it } from "@effect/vitest"
import { once, onceFor } from "@reins/base/base/Once"
import { packagesOfCore, sourcesOf } from "@reins/testing/Sources"
import { Context, Deferred, Effect, Either, Fiber, TestClock } from "effect"

it.effect("what is loaded once is there for later callers when the first one has gone", () =>
  Effect.gen(function* () {
    const begun = yield* Deferred.make<void>()
    const go = yield* Deferred.make<void>()
    let loads = 0
    const loading = Effect.zipRight(Deferred.succeed(begun, undefined), Deferred.await(go))
    const loaded = yield* once(Effect.map(loading, () => ++loads))
    const first = yield* Effect.fork(loaded)
    yield* Deferred.await(begun)
    // The first caller goes at once, though what it began has not ended.
    yield* Fiber.interrupt(first)
    const others = yield* Effect.fork(Effect.all([loaded, loaded], { concurrency: "unbounded" }))
    yield* Deferred.succeed(go, undefined)
    assert.deepStrictEqual([yield* Fiber.join(others), yield* loaded, loads], [[1, 1], 1, 1])
  })
)

it.effect("a failure is kept, and a defect is tried again", () =>
  Effect.gen(function* () {
    let runs = 0
    const failing = yield* once(Effect.suspend(() => Effect.fail(++runs)))
    assert.deepStrictEqual([yield* Effect.flip(failing), yield* Effect.flip(failing)], [1, 1])
    const dying = yield* once(Effect.sync(() => (++runs === 2 ? unreadable() : runs)))
    assert.isTrue(Either.isLeft(yield* Effect.either(Effect.sandbox(dying))))
    assert.deepStrictEqual([yield* dying, yield* dying], [3, 3])
  })
)

const unreadable = (): never => {
  throw new Error("the file cannot be read")
}

it.effect("a value that counts for a time is asked for again after it", () =>
  Effect.gen(function* () {
    let runs = 0
    const counted = yield* onceFor(
      Effect.sync(() => ++runs),
      "2 seconds"
    )
    yield* TestClock.adjust("1 minute")
    assert.deepStrictEqual([yield* counted, yield* counted], [1, 1])
    yield* TestClock.adjust("1999 millis")
    assert.strictEqual(yield* counted, 1)
    yield* TestClock.adjust("1 millis")
    assert.deepStrictEqual([yield* counted, yield* counted], [2, 2])
  })
)

class Named extends Context.Tag("test/Named")<Named, string>() {}

it.effect("it runs with what its first caller provides", () =>
  Effect.gen(function* () {
    const named = yield* once(Effect.map(Named, (name) => `of ${name}`))
    assert.strictEqual(yield* Effect.provideService(named, Named, "the first"), "of the first")
    assert.strictEqual(yield* Effect.provideService(named, Named, "another"), "of the first")
  })
)

it("no code caches an effect in the fiber of its first caller", () => {
  const sources = sourcesOf([...packagesOfCore, "server", "cli", "client", "console"])
  assert.isAbove(sources.length, 500)
  const caching = sources.filter(({ text }) => /\bEffect\.(cached\w*|once)\(/.test(text)).map(({ name }) => name)
  assert.deepStrictEqual(caching, [])
})
