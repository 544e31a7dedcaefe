import { assert, describe, it } from "@effect/vitest"
import { newId, SessionId } from "@reins/base/domain/Ids"
import { WorkingTrees } from "@reins/core/worktrees/WorkingTrees"
import { services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Deferred, Effect, Fiber, Layer } from "effect"

for (const { layer, name } of flowDatabases) {
  describe(`working trees on ${name}`, () => {
    it.scopedLive("two servers on the same data directory do not use the workspace of a session at once", () =>
      Effect.gen(function* () {
        const one = yield* WorkingTrees
        const other = yield* WorkingTrees.pipe(Effect.provide(Layer.fresh(WorkingTrees.layer)))
        const [id, anotherId] = [yield* newId(SessionId), yield* newId(SessionId)]
        const began = yield* Deferred.make<void>()
        const mayEnd = yield* Deferred.make<void>()
        const steps: Array<string> = []
        const note = (step: string) => Effect.sync(() => void steps.push(step))
        const turn = yield* Effect.fork(
          one.exclusive(
            id,
            Effect.zipRight(Deferred.succeed(began, undefined), Deferred.await(mayEnd)).pipe(
              Effect.zipRight(note("the turn ended"))
            )
          )
        )
        yield* Deferred.await(began)
        const application = yield* Effect.fork(other.exclusive(id, note("the application wrote")))
        yield* other.exclusive(anotherId, note("another session went on"))
        yield* Deferred.succeed(mayEnd, undefined)
        yield* Fiber.joinAll([turn, application])
        assert.deepStrictEqual(steps, ["another session went on", "the turn ended", "the application wrote"])
      }).pipe(Effect.provide(services(layer)))
    )
  })
}
