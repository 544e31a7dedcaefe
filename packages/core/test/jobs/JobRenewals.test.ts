import { assert, layer as withLayer } from "@effect/vitest"
import type { JobKind } from "@reins/core/jobs/JobKind"
import * as Worker from "@reins/core/jobs/Worker"
import { Database } from "@reins/core/store/Database"
import { identity } from "@reins/testing/identity/Identity"
import { aMoment } from "@reins/testing/process/Waiting"
import { databases } from "@reins/testing/store/Databases"
import { Chunk, Clock, Deferred, Effect, Layer, Logger, TestClock } from "effect"
import { counted, errors, given, newKind, succeeded } from "./Workers.js"

/** Works a kind, and says when it is logged that a claim could not be renewed. */
const workingAloud = (kind: JobKind, failed: Deferred.Deferred<void>) =>
  Worker.layer(Effect.succeed([kind])).pipe(
    Layer.provide(
      Logger.replace(
        Logger.defaultLogger,
        Logger.make(({ message }) => {
          if (String(message).startsWith("a claim could not be renewed")) Deferred.unsafeDone(failed, Effect.void)
        })
      )
    )
  )

const rename = (from: string, to: string) =>
  Effect.flatMap(Database, ({ run, sql }) => run(sql`alter table ${sql(from)} rename to ${sql(to)}`))

/** Waits until somebody sleeps for this many milliseconds from now. */
const sleptFor = Effect.fnUntraced(function* (ms: number) {
  const at = (yield* Clock.currentTimeMillis) + ms
  yield* Effect.repeat(Effect.zipRight(aMoment, TestClock.sleeps()), { until: Chunk.contains(at) })
})

/** Waits until a claim that is made or renewed now waits for its next renewal. */
const renewalAwaited = sleptFor(10_000)

/** Waits until a claim that could not be renewed now waits to be renewed again. */
const retryAwaited = sleptFor(1_000)

for (const { layer, name } of databases) {
  const { database, traffic } = counted(layer)
  withLayer(identity(database))(`a claim that cannot be renewed on ${name}`, (it) => {
    it.effect("is renewed once it can be again, and the attempt goes on", () =>
      Effect.gen(function* () {
        const { enqueue, get, pass, until } = yield* given(traffic)
        const [begun, goOn, failed] = yield* Effect.all([
          Deferred.make<void>(),
          Deferred.make<void>(),
          Deferred.make<void>()
        ])
        const kind = newKind({
          run: () =>
            Deferred.succeed(begun, undefined).pipe(Effect.zipRight(Deferred.await(goOn)), Effect.as(succeeded))
        })
        const id = yield* enqueue(kind)
        yield* Effect.gen(function* () {
          yield* Effect.zipRight(Deferred.await(begun), renewalAwaited)
          yield* TestClock.adjust("10 seconds")
          const renewed = yield* until(id, ({ attempts }) => attempts[0]?.heartbeat_at !== attempts[0]?.started_at)
          yield* renewalAwaited
          yield* rename("attempts", "attempts_away")
          yield* TestClock.adjust("10 seconds")
          yield* Deferred.await(failed)
          yield* rename("attempts_away", "attempts")
          yield* retryAwaited
          yield* TestClock.adjust("1 second")
          // No time may pass until it is renewed, or the claim could run out first.
          yield* until(id, ({ attempts }) => attempts[0]?.heartbeat_at !== renewed.attempts[0]?.heartbeat_at)
          yield* TestClock.adjust("25 seconds")
          yield* Deferred.succeed(goOn, undefined)
          yield* pass(id, ({ state }) => state !== "running")
        }).pipe(Effect.provide(workingAloud(kind, failed)))
        const job = yield* get(id)
        assert.deepStrictEqual([job.state, errors(job)], ["succeeded", [["succeeded", null]]])
      })
    )

    it.effect("ends its attempt when it has run out", () =>
      Effect.gen(function* () {
        const { enqueue } = yield* given(traffic)
        const [begun, stopped, failed] = yield* Effect.all([
          Deferred.make<void>(),
          Deferred.make<void>(),
          Deferred.make<void>()
        ])
        const kind = newKind({
          run: () =>
            Deferred.succeed(begun, undefined).pipe(
              Effect.zipRight(Effect.never),
              Effect.onInterrupt(() => Deferred.succeed(stopped, undefined))
            )
        })
        yield* enqueue(kind)
        yield* Effect.gen(function* () {
          yield* Effect.zipRight(Deferred.await(begun), renewalAwaited)
          yield* rename("attempts", "attempts_away")
          yield* TestClock.adjust("10 seconds")
          yield* Deferred.await(failed)
          assert.isFalse(yield* Deferred.isDone(stopped))
          yield* TestClock.adjust("20 seconds")
          yield* Deferred.await(stopped)
          yield* rename("attempts_away", "attempts")
        }).pipe(Effect.provide(workingAloud(kind, failed)))
      })
    )
  })
}
