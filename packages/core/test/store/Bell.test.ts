import { assert, describe, it } from "@effect/vitest"
import { Bell } from "@reins/core/store/Bell"
import { Database } from "@reins/core/store/Database"
import * as Postgres from "@reins/core/store/Postgres"
import { databases, postgresDatabase } from "@reins/testing/store/Databases"
import { Context, Deferred, Effect, Layer, Schedule } from "effect"

/** Rings one bell until the other has heard it. */
const ringUntilHeard = (from: Bell["Type"], to: Bell["Type"], topic: string) =>
  Effect.gen(function* () {
    const heard = yield* Deferred.make<void>()
    const stop = to.listen(topic, () => Deferred.unsafeDone(heard, Effect.void))
    yield* Effect.raceFirst(Deferred.await(heard), Effect.repeat(from.ring(topic), Schedule.spaced("20 millis")))
    stop()
  })

for (const { name, layer } of databases) {
  describe(`Bell on ${name}`, () => {
    it.scopedLive("a ring reaches the listeners of its topic at once, and nobody who has stopped listening", () =>
      Effect.gen(function* () {
        const bell = Context.get(yield* Layer.build(layer), Bell)
        const rings: Array<string> = []
        const stopOne = bell.listen("a", () => rings.push("one"))
        const stopTwo = bell.listen("a", () => rings.push("two"))
        bell.listen("b", () => rings.push("other topic"))
        yield* bell.ring("a")
        assert.deepStrictEqual(rings, ["one", "two"])
        stopOne()
        stopOne()
        yield* bell.ring("a")
        assert.deepStrictEqual(rings, ["one", "two", "two"])
        stopTwo()
        yield* bell.ring("a")
        assert.strictEqual(rings.length, 3)
      })
    )
  })
}

describe("Bell of several processes on PostgreSQL", () => {
  it.scopedLive("a ring in one process is heard in the others, also after their connections broke", () =>
    Effect.gen(function* () {
      const url = yield* postgresDatabase
      const one = yield* Layer.build(Postgres.layer(url))
      const two = yield* Layer.build(Postgres.layer(url))
      const [here, there] = [Context.get(one, Bell), Context.get(two, Bell)]
      yield* ringUntilHeard(here, there, "session:1")
      yield* ringUntilHeard(there, here, "session:2")
      const db = Context.get(one, Database)
      const broken = yield* db.all(db.sql`select pg_terminate_backend(pid) from pg_stat_activity
        where query ilike 'listen%' and datname = current_database()`)
      assert.strictEqual(broken.length, 2)
      yield* ringUntilHeard(here, there, "session:3")
      yield* ringUntilHeard(there, here, "session:4")
    })
  )
})
