import { assert, it } from "@effect/vitest"
import { Database } from "@reins/core/store/Database"
import { failedStatementOf, isSqlError } from "@reins/core/store/FailedStatement"
import * as Postgres from "@reins/core/store/Postgres"
import { administer, postgresDatabase } from "@reins/testing/store/Databases"
import { variants } from "@reins/testing/Variants"
import { Cause, Context, Effect, type Exit, Fiber, Layer, Option, Redacted } from "effect"

/** A database of its own with an empty table of numbers, none of which may be there twice. */
const given = Effect.gen(function* () {
  const db = Context.get(yield* Layer.build(Postgres.layer(yield* postgresDatabase, { connections: 3 })), Database)
  yield* db.run(db.sql`create table numbers (n integer constraint once primary key)`)
  const write = db.prepare((n: number) => db.sql`insert into numbers (n) values (${n})`)
  const read = db.prepare(
    (least: number) => db.sql<{ n: number }>`select n from numbers where n >= ${least} order by n`
  )
  return {
    db,
    write: (n: number) => db.run(write(n)),
    written: Effect.map(
      Effect.suspend(() => db.all(read(0))),
      (rows) => rows.map(({ n }) => n)
    )
  }
})

const isTwice = (exit: Exit.Exit<unknown, unknown>) => {
  const failed =
    exit._tag === "Failure" ? failedStatementOf(Option.getOrUndefined(Cause.dieOption(exit.cause))) : undefined
  return failed?.code === "23505" && failed.constraint === "once"
}

it.scopedLive("a statement that nobody waited for fails its transaction with its own error", () =>
  Effect.gen(function* () {
    const { db, write, written } = yield* given
    yield* write(1)
    const fails = <A, E>(effect: Effect.Effect<A, E>) => Effect.map(Effect.exit(db.transaction(effect)), isTwice)
    const twice = Effect.zipRight(write(2), write(1))
    assert.isTrue(yield* fails(twice), "at the commit")
    assert.isTrue(yield* fails(Effect.zipRight(twice, written)), "at the next read")
    assert.isTrue(yield* fails(Effect.zipRight(twice, Effect.exit(written))), "at the commit after a read that failed")
    assert.isTrue(yield* fails(Effect.zipRight(twice, Effect.forEach([3, 4, 5], write))), "with others behind it")
    assert.isTrue(yield* fails(Effect.zipRight(twice, Effect.fail("no"))), "before what came after it")
    assert.deepStrictEqual(yield* written, [1])
  })
)

it.scopedLive("what fails in a transaction inside another leaves the outer one whole", () =>
  Effect.gen(function* () {
    const { db, write, written } = yield* given
    const inner = yield* db.transaction(
      Effect.gen(function* () {
        yield* write(1)
        const twice = yield* Effect.exit(db.transaction(Effect.zipRight(write(2), write(1))))
        const refused = yield* Effect.exit(db.transaction(Effect.zipRight(write(3), Effect.fail("no"))))
        yield* db.transaction(write(4))
        return { twice, refused, seen: yield* written }
      })
    )
    assert.isTrue(isTwice(inner.twice))
    assert.strictEqual(inner.refused._tag, "Failure")
    assert.deepStrictEqual(inner.seen, [1, 4])
    assert.deepStrictEqual(yield* written, [1, 4])

    const outer = yield* Effect.exit(
      db.transaction(write(1).pipe(Effect.zipRight(Effect.exit(db.transaction(write(5)))), Effect.zipRight(write(6))))
    )
    assert.isTrue(isTwice(outer))
    assert.deepStrictEqual(yield* written, [1, 4])
  })
)

it.scopedLive("a fiber that was forked in a transaction and outlives it is outside", () =>
  Effect.gen(function* () {
    const { db, write, written } = yield* given
    const over = yield* Effect.makeLatch(false)
    const late = yield* db.transaction(Effect.forkDaemon(Effect.zipRight(over.await, write(1))))
    yield* Effect.exit(db.transaction(Effect.zipRight(write(2), Effect.zipRight(over.open, Effect.fail("no")))))
    yield* Fiber.join(late)
    assert.deepStrictEqual(yield* written, [1])
  })
)

for (const first of ["read", "write", "transaction"] as const) {
  it.scopedLive(`a ${first} whose statement the server has forgotten is run once more, and only once`, () =>
    Effect.gen(function* () {
      const { db, write, written } = yield* given
      yield* write(1)
      yield* written
      yield* db.run(db.sql`deallocate all`)
      if (first === "read") assert.deepStrictEqual(yield* written, [1])
      if (first === "write") yield* write(2)
      if (first === "transaction") yield* db.transaction(Effect.zipRight(write(2), written))
      assert.deepStrictEqual(yield* written, first === "read" ? [1] : [1, 2])
    })
  )
}

it.scopedLive("a statement whose rows have changed their shape goes on", () =>
  Effect.gen(function* () {
    const { db, write } = yield* given
    const read = db.prepare((n: number) => db.sql`select * from numbers where n = ${n}`)
    yield* write(1)
    assert.deepStrictEqual(yield* db.all(read(1)), [{ n: 1 }])
    const prepared = db.first(db.sql<{ at: Date }>`select prepare_time as at from pg_prepared_statements
      where statement like 'select * from numbers%'`)
    const before = yield* prepared
    yield* db.run(db.sql`alter table numbers add column name text`)
    assert.deepStrictEqual(yield* db.all(read(1)), [{ n: 1, name: null }])
    assert.isAbove(Number((yield* prepared)?.at), Number(before?.at), "it is prepared anew")
  })
)

it.scopedLive("a statement that is refused on its connection leaves it fit for the next one", () =>
  Effect.gen(function* () {
    const { db, write, written } = yield* given
    yield* write(1)
    for (let count = 0; count < 30; count++) assert.isTrue(isTwice(yield* Effect.exit(write(1))))
    for (let count = 0; count < 30; count++) assert.isTrue(isTwice(yield* Effect.exit(db.transaction(write(1)))))
    assert.deepStrictEqual(yield* written, [1])
    const used = yield* db.first(db.sql<{ count: number }>`select cast(count(*) as integer) as count
      from pg_stat_activity where application_name = 'reins' and datname = current_database()`)
    assert.strictEqual(used?.count, 1)
  })
)

it.scopedLive("values come back as they were given, also long ones", () =>
  Effect.gen(function* () {
    const { db } = yield* given
    yield* db.run(db.sql`create table given_values (id integer primary key, t text, b bytea, i integer)`)
    const write = db.prepareRow((row) => db.sql`insert into given_values ${db.sql.insert(row)}`)
    const rows = [
      { id: 1, t: "", b: new Uint8Array([]), i: 0 },
      { id: 2, t: null, b: null, i: null },
      { id: 3, t: "\u00fc\u20ac\u{1f600}'\\", b: new Uint8Array([0, 1, 255]), i: -7 },
      { id: 4, t: "\u20ac".repeat(100_000), b: new Uint8Array(100_000).fill(200), i: 2147483647 }
    ]
    yield* db.transaction(Effect.forEach(rows, (row) => db.run(write(row))))
    const read = db.prepare(
      (id: number) =>
        db.sql<{ id: number; t: string | null; b: Buffer | null; i: number | null }>`
          select * from given_values where id >= ${id} order by id`
    )
    for (const _ of ["described", "known"]) {
      const found = yield* db.all(read(1))
      assert.deepStrictEqual(
        found.map((row) => ({ ...row, b: row.b === null ? null : new Uint8Array(row.b) })),
        rows
      )
    }
  })
)

it.scopedLive("a value that cannot be given fails its statement alone", () =>
  Effect.gen(function* () {
    const { db, write, written } = yield* given
    const refused = db.run(db.sql`insert into numbers (n) values (${new Date()})`)
    for (const effect of [refused, db.transaction(Effect.zipRight(write(1), refused))]) {
      for (let count = 0; count < 5; count++) {
        const exit = yield* Effect.exit(effect)
        const failure = exit._tag === "Failure" ? Option.getOrUndefined(Cause.dieOption(exit.cause)) : undefined
        assert.isTrue(isSqlError(failure) && failure.cause instanceof TypeError)
      }
    }
    assert.deepStrictEqual(yield* written, [])
  })
)

it.scopedLive("a statement that is prepared with one that fails is prepared again", () =>
  Effect.gen(function* () {
    const { db, write, written } = yield* given
    const count = db.prepare(
      (n: number) => db.sql<{ c: number }>`select cast(count(*) as integer) as c from numbers where n = ${n}`
    )
    yield* write(1)
    for (let time = 0; time < 3; time++)
      assert.isTrue(isTwice(yield* Effect.exit(db.transaction(Effect.zipRight(write(1), db.all(count(1)))))))
    assert.deepStrictEqual(yield* db.transaction(Effect.zipRight(write(2), db.all(count(2)))), [{ c: 1 }])
    assert.deepStrictEqual(yield* written, [1, 2])
  })
)

it.scopedLive("no more connections are opened than are allowed", () =>
  Effect.gen(function* () {
    const { db, write, written } = yield* given
    const together = yield* Effect.makeLatch(false)
    let isIn = 0
    const one = (n: number) =>
      db.transaction(
        Effect.gen(function* () {
          yield* write(n)
          yield* written
          if (++isIn === 3) yield* together.open
          yield* together.await
        })
      )
    yield* Effect.forEach([1, 2, 3, 4, 5, 6, 7, 8, 9], one, { concurrency: "unbounded" })
    assert.deepStrictEqual((yield* written).length, 9)
    const used = yield* db.first(db.sql<{ count: number }>`select cast(count(*) as integer) as count
      from pg_stat_activity where application_name = 'reins' and datname = current_database()`)
    assert.strictEqual(used?.count, 3)
  })
)

const losesNothing = (level: string) =>
  it.scopedLive(
    `forty changes at once lose nothing on a database of the level ${level}, whose schema several make`,
    () =>
      Effect.gen(function* () {
        const url = yield* postgresDatabase
        yield* administer(
          `alter database ${new URL(Redacted.value(url)).pathname.slice(1)} set default_transaction_isolation = '${level}'`
        )
        const opened = yield* Effect.forEach([1, 2, 3], () => Layer.build(Postgres.layer(url)), { concurrency: 3 })
        const [db, other] = opened.map((context) => Context.get(context, Database))
        if (db === undefined || other === undefined) return assert.fail("no database")
        const { sql } = db
        yield* db.run(sql`create table counts (id integer primary key, n integer not null)`)
        yield* db.run(sql`insert into counts values (1, 0), (2, 0)`)
        const raise = (id: number) => db.run(sql`update counts set n = n + 1 where id = ${id}`)
        const reread = Effect.gen(function* () {
          const row = yield* db.first(sql<{ n: number }>`select n from counts where id = 1${db.forUpdate}`)
          yield* db.run(sql`update counts set n = ${(row?.n ?? 0) + 1} where id = 1`)
        })
        const ways = [
          raise(1),
          other.run(sql`update counts set n = n + 1 where id = 1`),
          db.transaction(reread),
          // Each of two waits for the other.
          db.transaction(Effect.zipRight(raise(1), Effect.zipRight(db.all(sql`select 1`), raise(2)))),
          db.transaction(Effect.zipRight(raise(2), Effect.zipRight(db.all(sql`select 1`), raise(1))))
        ]
        yield* Effect.all(
          Array.from({ length: 40 }, (_, index) => ways[index % ways.length] ?? Effect.void),
          {
            concurrency: "unbounded"
          }
        )
        const counts = yield* db.all(sql<{ n: number }>`select n from counts order by id`)
        assert.deepStrictEqual(
          counts.map(({ n }) => n),
          [40, 16]
        )
      })
  )

losesNothing("serializable")
variants(() => {
  losesNothing("read committed")
  losesNothing("repeatable read")
})
