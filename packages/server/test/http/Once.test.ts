import { assert, it } from "@effect/vitest"
import { once } from "@reins/server/http/Once"
import { Deferred, Effect, Fiber } from "effect"

it.effect("what is loaded once is there for later callers when the first one has gone", () =>
  Effect.gen(function* () {
    const begun = yield* Deferred.make<void>()
    const go = yield* Deferred.make<void>()
    let loads = 0
    const loading = Effect.zipRight(Deferred.succeed(begun, undefined), Deferred.await(go))
    const loaded = yield* once(Effect.map(loading, () => ++loads))
    const first = yield* Effect.fork(loaded)
    yield* Deferred.await(begun)
    const interrupted = yield* Effect.fork(Fiber.interrupt(first))
    yield* Deferred.succeed(go, undefined)
    yield* Fiber.join(interrupted)
    assert.deepStrictEqual([yield* loaded, yield* loaded, loads], [1, 1, 1])
  })
)
