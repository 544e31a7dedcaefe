import { assert, it } from "@effect/vitest"
import { Database } from "@reins/core/store/Database"
import { CommitUnknown, isConnectionLost } from "@reins/core/store/LostConnection"
import * as Postgres from "@reins/core/store/Postgres"
import { Cause, Context, Effect, Exit, Layer, Logger, Option } from "effect"
import { administer, postgresDatabase } from "./Databases.js"

/** The bell says that it has lost its connection. */
const quiet = Logger.remove(Logger.defaultLogger)

/** A database of its own with an empty table of numbers, and how to end every connection to it. */
const given = Effect.gen(function* () {
  const url = yield* postgresDatabase
  const db = Context.get(yield* Layer.build(Layer.provide(Postgres.layer(url), quiet)), Database)
  const name = (yield* db.first(db.sql<{ name: string }>`select current_database() as name`))?.name
  yield* db.run(db.sql`create table numbers (n integer)`)
  return {
    db,
    write: (n: number) => db.run(db.sql`insert into numbers (n) values (${n})`),
    written: Effect.map(db.all(db.sql<{ n: number }>`select n from numbers order by n`), (rows) =>
      rows.map(({ n }) => n)
    ),
    endConnections: administer(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`)
  }
})

const defectOf = (exit: Exit.Exit<unknown, unknown>) =>
  Exit.isFailure(exit) ? Option.getOrUndefined(Cause.dieOption(exit.cause)) : undefined

it.scopedLive("a transaction whose connection is ended in its midst is run again whole", () =>
  Effect.gen(function* () {
    const { db, endConnections, write, written } = yield* given
    let runs = 0
    const result = yield* db.transaction(
      Effect.gen(function* () {
        runs++
        yield* write(1)
        if (runs < 3) yield* endConnections
        yield* write(2)
        return runs
      })
    )
    assert.deepStrictEqual([result, yield* written], [3, [1, 2]])
  })
)

it.scopedLive("one that fails by itself, when its connection is gone, fails as it would have", () =>
  Effect.gen(function* () {
    const { db, endConnections, write, written } = yield* given
    const failing = db.transaction(write(1).pipe(Effect.zipRight(endConnections), Effect.zipRight(Effect.fail("no"))))
    assert.strictEqual(yield* Effect.flip(failing), "no")
    assert.deepStrictEqual(yield* written, [])
  })
)

it.scopedLive("a read is made again, and a write outside a transaction is not", () =>
  Effect.gen(function* () {
    const { db, endConnections, write, written } = yield* given
    yield* write(1)
    yield* endConnections
    assert.deepStrictEqual(yield* written, [1])
    const ending = db.run(db.sql`insert into numbers (n) select 2 where pg_terminate_backend(pg_backend_pid())`)
    assert.isTrue(isConnectionLost(defectOf(yield* Effect.exit(ending))))
    assert.deepStrictEqual(yield* written, [1])
  })
)

it.scopedLive("a commit whose connection is ended is not run again, since it may have taken place", () =>
  Effect.gen(function* () {
    const { db, write, written } = yield* given
    yield* db.run(db.sql`create function end_connection() returns trigger language plpgsql as
      'begin perform pg_terminate_backend(pg_backend_pid()); return null; end'`)
    yield* db.run(db.sql`create constraint trigger at_commit after insert on numbers deferrable initially deferred
      for each row execute function end_connection()`)
    let runs = 0
    const exit = yield* Effect.exit(
      db.transaction(
        Effect.zipRight(
          Effect.sync(() => runs++),
          write(1)
        )
      )
    )
    assert.instanceOf(defectOf(exit), CommitUnknown)
    assert.deepStrictEqual([runs, yield* written], [1, []])
  })
)

it.scopedLive("a statement that is refused is no lost connection", () =>
  Effect.gen(function* () {
    const { db } = yield* given
    const exit = yield* Effect.exit(db.run(db.sql`select * from nothing`))
    assert.isFalse(isConnectionLost(defectOf(exit)))
  })
)
