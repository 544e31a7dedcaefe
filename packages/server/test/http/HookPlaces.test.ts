import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { HookPlaces } from "../../src/http/HookPlaces.js"
import { TokenBuckets } from "../../src/http/TokenBuckets.js"

const mib = 1024 * 1024

/** Bodies that hold their place until they are told to end. */
const held = (places: HookPlaces, patienceMs = 60_000) => {
  const inside: Array<string> = []
  const enter = (name: string, network: string, bytes: number) =>
    Effect.gen(function* () {
      const end = yield* Deferred.make<void>()
      const work = Effect.zipRight(
        Effect.sync(() => inside.push(name)),
        Deferred.await(end)
      )
      const fiber = yield* Effect.fork(Effect.exit(places.hold({ network, bytes, patienceMs }, work)))
      yield* Effect.yieldNow()
      return Effect.zipRight(Deferred.succeed(end, undefined), Fiber.join(fiber))
    })
  return { enter, inside }
}

describe("the places of hooks' bodies", () => {
  it.live("bound the bytes of a network and of all, and let calls of a network in by their order", () =>
    Effect.gen(function* () {
      const { enter, inside } = held(new HookPlaces())
      const first = yield* enter("a1", "a", 3 * mib)
      const second = yield* enter("a2", "a", 2 * mib)
      // It would fit, and comes after one that does not.
      const third = yield* enter("a3", "a", mib / 2)
      const other = yield* enter("b1", "b", 4 * mib)
      assert.deepStrictEqual(inside, ["a1", "b1"])
      yield* first
      yield* Effect.yieldNow()
      assert.deepStrictEqual(inside, ["a1", "b1", "a2", "a3"])
      for (const end of [second, third, other]) yield* end
      // One that is larger than the share of a network is alone.
      const large = yield* enter("large", "a", 5 * mib)
      const small = yield* enter("small", "a", 1)
      assert.deepStrictEqual(inside.slice(4), ["large"])
      for (const end of [large, small]) yield* end
      assert.deepStrictEqual(inside.slice(4), ["large", "small"])
    })
  )

  it.live("let in no more than 24 MiB of many networks, and all of them in the end", () =>
    Effect.gen(function* () {
      const { enter, inside } = held(new HookPlaces())
      const ends = []
      for (let network = 0; network < 10; network++) ends.push(yield* enter(`${network}`, `${network}`, 4 * mib))
      assert.lengthOf(inside, 6)
      for (const end of ends) yield* end
      assert.lengthOf(inside, 10)
    })
  )

  it.live("refuse a call that has waited too long, and forget it", () =>
    Effect.gen(function* () {
      const places = new HookPlaces()
      const { enter, inside } = held(places)
      const first = yield* enter("first", "a", 4 * mib)
      const late = yield* Effect.flip(places.hold({ network: "a", bytes: 1, patienceMs: 1 }, Effect.void))
      assert.deepInclude(late, { code: "waiting_capacity" })
      yield* first
      const next = yield* enter("next", "a", 4 * mib)
      assert.deepStrictEqual(inside, ["first", "next"])
      yield* next
    })
  )
})

describe("a bucket", () => {
  it("has callers wait for the next ones in their order, up to their patience", () => {
    const buckets = new TokenBuckets(60)
    for (let call = 0; call < 60; call++)
      assert.deepStrictEqual(buckets.reserve("x", 0, 2_000), { waitMs: 0, isTaken: true })
    assert.deepStrictEqual(buckets.reserve("x", 0, 2_000), { waitMs: 1_000, isTaken: true })
    assert.deepStrictEqual(buckets.reserve("x", 0, 2_000), { waitMs: 2_000, isTaken: true })
    assert.deepStrictEqual(buckets.reserve("x", 0, 2_000), { waitMs: 3_000, isTaken: false })
    assert.deepStrictEqual(buckets.reserve("y", 0, 0), { waitMs: 0, isTaken: true })
    assert.deepStrictEqual(buckets.reserve("x", 3_000, 0), { waitMs: 0, isTaken: true })
  })
})
