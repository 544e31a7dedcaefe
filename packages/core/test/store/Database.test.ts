import { assert, it } from "@effect/vitest"
import { Database } from "@reins/core/store/Database"
import * as Postgres from "@reins/core/store/Postgres"
import { aMoment } from "@reins/testing/process/Waiting"
import { databaseSuite } from "@reins/testing/store/DatabaseSuite"
import { databases, postgresDatabase } from "@reins/testing/store/Databases"
import { Effect, Fiber, Redacted } from "effect"
import pg from "pg"

/** A connection of its own that holds locks, and sees who waits for them. */
const holder = (url: Redacted.Redacted) =>
  Effect.gen(function* () {
    const client = yield* Effect.acquireRelease(
      Effect.promise(async () => {
        const opened = new pg.Client({ connectionString: Redacted.value(url) })
        await opened.connect()
        return opened
      }),
      (opened) => Effect.promise(() => opened.end())
    )
    const ask = (statement: string) => Effect.promise(() => client.query(statement))
    return {
      lock: (key: number) => ask(`select pg_advisory_lock(${key})`),
      unlock: (key: number) => ask(`select pg_advisory_unlock(${key})`),
      whenAwaited: (key: number) =>
        Effect.repeat(
          Effect.zipRight(
            aMoment,
            ask(`select 1 from pg_locks where locktype = 'advisory' and objid = ${key} and not granted`)
          ),
          { until: ({ rows }) => rows.length > 0 }
        )
    }
  })

it.scopedLive("on PostgreSQL, a statement that nobody waits for any more does not take another one with it", () =>
  Effect.gen(function* () {
    const url = yield* postgresDatabase
    const locks = yield* holder(url)
    yield* Effect.gen(function* () {
      const db = yield* Database
      const { sql } = db
      const one = db.first(sql`select 1 as one`)
      const waitFor = (key: number) => db.first(sql`select pg_advisory_xact_lock(${key}) as got`)
      yield* locks.lock(1)
      yield* locks.lock(2)
      // All connections of the pool but one are in use, so that a cancellation would have to wait for one of its own.
      const over = yield* Effect.makeLatch(false)
      const busy = yield* Effect.forEach(Array.from({ length: 9 }), () =>
        Effect.gen(function* () {
          const begun = yield* Effect.makeLatch(false)
          const held = one.pipe(Effect.zipRight(begun.open), Effect.zipRight(over.await), db.transaction)
          return yield* Effect.zipLeft(Effect.fork(held), begun.await)
        })
      )
      const left = yield* Effect.fork(waitFor(1))
      yield* locks.whenAwaited(1)
      const other = yield* Effect.fork(waitFor(2))
      yield* Effect.yieldNow()
      const leaving = yield* Effect.fork(Fiber.interrupt(left))
      yield* Effect.yieldNow()
      yield* locks.unlock(1)
      yield* locks.whenAwaited(2)
      yield* over.open
      yield* Effect.forEach(busy, Fiber.join)
      yield* Fiber.join(leaving)
      yield* locks.unlock(2)
      assert.isDefined(yield* Fiber.join(other))
    }).pipe(Effect.provide(Postgres.layer(url)))
  })
)

for (const { layer, name } of databases) databaseSuite(name, layer)
