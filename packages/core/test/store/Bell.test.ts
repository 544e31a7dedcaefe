import { assert, describe, it } from "@effect/vitest"
import { Bell } from "@reins/core/store/Bell"
import { Database } from "@reins/core/store/Database"
import * as Postgres from "@reins/core/store/Postgres"
import { aMoment } from "@reins/testing/process/Waiting"
import { databases, postgresDatabase } from "@reins/testing/store/Databases"
import { notifications } from "@reins/testing/store/Notifications"
import { Context, Deferred, Effect, Exit, Layer, Schedule, Scope } from "effect"

/** Rings one bell until the other has heard it. */
const ringUntilHeard = (from: Bell["Type"], to: Bell["Type"], topic: string) =>
  Effect.gen(function* () {
    const heard = yield* Deferred.make<void>()
    const stop = to.listen(topic, () => Deferred.unsafeDone(heard, Effect.void))
    yield* Effect.raceFirst(Deferred.await(heard), Effect.repeat(from.ring(topic), Schedule.spaced("20 millis")))
    stop()
  })

/** Begins to listen, and waits until a ring of another process would come through. */
const listening = (bell: Bell["Type"], topic: string) =>
  Effect.gen(function* () {
    const begun = yield* Effect.makeLatch(false)
    const stop = bell.listen(topic, () => begun.unsafeOpen())
    yield* begun.await
    return stop
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
        where application_name like 'reins-bell/%' and datname = current_database()`)
      assert.strictEqual(broken.length, 2)
      yield* ringUntilHeard(here, there, "session:3")
      yield* ringUntilHeard(there, here, "session:4")
    })
  )

  it.scopedLive("who begins to listen is rung once it hears the others, so that it misses nothing in between", () =>
    Effect.gen(function* () {
      const bell = Context.get(yield* Layer.build(Postgres.layer(yield* postgresDatabase)), Bell)
      yield* listening(bell, "session:1")
    })
  )

  it.scopedLive("nobody is notified of what no other process listens to", () =>
    Effect.gen(function* () {
      const url = yield* postgresDatabase
      const notified = yield* notifications(url)
      const process = yield* Layer.build(Postgres.layer(url))
      const [db, here] = [Context.get(process, Database), Context.get(process, Bell)]
      const others = yield* Scope.make()
      const there = Context.get(yield* Scope.extend(Layer.build(Postgres.layer(url)), others), Bell)
      const whenNotified = (topic: string) => Effect.repeat(aMoment, { until: () => notified.includes(topic) })

      // This process hears its own rings without the database.
      yield* listening(here, "session:1")
      yield* here.ring("session:1")
      yield* here.ring("session:2")
      const stop = yield* listening(there, "session:3")
      yield* here.ring("session:3")
      yield* whenNotified("session:3")
      assert.deepStrictEqual(notified, ["session:3"])

      stop()
      yield* listening(there, "session:4")
      yield* here.ring("session:3")
      yield* here.ring("session:4")
      yield* whenNotified("session:4")
      assert.deepStrictEqual(notified, ["session:3", "session:4"])

      yield* Scope.close(others, Exit.void)
      const lines = db.all(db.sql`select 1 from pg_stat_activity
        where application_name like 'reins-bell/%' and datname = current_database()`)
      yield* Effect.repeat(Effect.zipRight(aMoment, lines), { until: ({ length }) => length === 1 })
      const last = Context.get(yield* Layer.build(Postgres.layer(url)), Bell)
      yield* listening(last, "session:5")
      yield* here.ring("session:4")
      yield* here.ring("session:5")
      yield* whenNotified("session:5")
      assert.deepStrictEqual(notified, ["session:3", "session:4", "session:5"])
    })
  )
})
