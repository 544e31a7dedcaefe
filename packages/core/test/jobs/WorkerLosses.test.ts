import { assert, layer as withLayer } from "@effect/vitest"
import { JobClaims } from "@reins/core/jobs/JobClaims"
import { identity } from "@reins/testing/identity/Identity"
import { databases } from "@reins/testing/store/Databases"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { counted, elsewhere, errors, given, newKind, working } from "./Workers.js"

const dead = { workerId: "node-a/7", bootId: "boot_dead" }

for (const { layer, name } of databases) {
  const { database, traffic } = counted(layer)
  withLayer(identity(database))(`attempts that are lost on ${name}`, (it) => {
    it.effect("are cleaned up after by one server alone, although two find them at the same time", () =>
      Effect.gen(function* () {
        const { enqueue, get, until } = yield* given(traffic)
        const begun = yield* Deferred.make<void>()
        const goOn = yield* Deferred.make<void>()
        let cleanings = 0
        const kind = newKind({
          lost: () =>
            Effect.gen(function* () {
              cleanings++
              yield* Deferred.succeed(begun, undefined)
              yield* Deferred.await(goOn)
              return { next: "retry" as const, command: Effect.void }
            })
        })
        const id = yield* enqueue(kind)
        yield* (yield* JobClaims).claim(kind.kind, 1, dead)
        const first = yield* until(id, ({ state }) => state === "succeeded").pipe(
          Effect.provide(Layer.provide(working(kind), elsewhere("node-b", [dead.bootId]))),
          Effect.fork
        )
        yield* Deferred.await(begun)
        // A server looks for what is lost before it is there.
        yield* Effect.provide(Effect.void, Layer.provide(working(kind), elsewhere("node-c", [dead.bootId])))
        assert.strictEqual(cleanings, 1)
        yield* Deferred.succeed(goOn, undefined)
        yield* Fiber.join(first)
        assert.strictEqual(cleanings, 1)
        const [abandoned, done] = errors(yield* get(id))
        assert.include(abandoned?.[1], `Its worker ${dead.workerId} ended before it was done; node-b/`)
        assert.deepStrictEqual(done, ["succeeded", null])
      })
    )

    it.effect("and cannot be cleaned up after hold up neither the start nor other work, and are looked at again", () =>
      Effect.gen(function* () {
        const { enqueue, get, pass, until } = yield* given(traffic)
        let broken = true
        const stuck = newKind({
          lost: () =>
            broken
              ? Effect.dieMessage("its files cannot be read")
              : Effect.succeed({ next: "retry" as const, command: Effect.void })
        })
        const other = newKind()
        const stuckId = yield* enqueue(stuck)
        yield* (yield* JobClaims).claim(stuck.kind, 1, dead)
        yield* Effect.gen(function* () {
          const otherId = yield* enqueue(other)
          yield* until(otherId, ({ state }) => state === "succeeded")
          assert.strictEqual((yield* get(stuckId)).state, "running")
          broken = false
          yield* pass(stuckId, ({ state }) => state === "succeeded")
        }).pipe(Effect.provide(Layer.provide(working([stuck, other]), elsewhere("node-b", [dead.bootId]))))
      })
    )
  })
}
