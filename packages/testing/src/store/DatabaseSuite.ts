import { assert, layer as suite } from "@effect/vitest"
import type { Bell } from "@reins/core/store/Bell"
import { Database } from "@reins/core/store/Database"
import { Cause, Deferred, Effect, Exit, Fiber, type Layer } from "effect"

const all = { concurrency: "unbounded" } as const

/** A table of its own, which is gone with the scope. */
const things = (name: string) =>
  Effect.gen(function* () {
    const db = yield* Database
    const { sql } = db
    const table = sql(`suite_${name}`)
    yield* Effect.acquireRelease(db.run(sql`create table ${table} (name text primary key, count integer)`), () =>
      db.run(sql`drop table ${table}`)
    )
    return {
      db,
      insert: (thing: string, count: number | null = null) =>
        db.run(sql`insert into ${table} (name, count) values (${thing}, ${count})`),
      names: Effect.map(db.all(sql<{ name: string }>`select name from ${table} order by name`), (rows) =>
        rows.map((row) => row.name)
      ),
      countOf: db.prepare((thing: string) => sql<{ count: number }>`select count from ${table} where name = ${thing}`),
      increment: (thing: string) =>
        db.transaction(
          Effect.gen(function* () {
            const row = yield* db.first(
              sql<{ count: number }>`select count from ${table} where name = ${thing}${db.forUpdate}`
            )
            yield* Effect.yieldNow()
            yield* db.run(sql`update ${table} set count = ${(row?.count ?? 0) + 1} where name = ${thing}`)
          })
        ),
      insertRow: db.prepareRow((row) => sql`insert into ${table} ${sql.insert(row)}`)
    }
  })

/** The promises of `Database` and its `Engine`, for one kind of database. */
export const databaseSuite = (name: string, database: Layer.Layer<Database | Bell>): void =>
  suite(database, { excludeTestServices: true })(`the database on ${name}`, (it) => {
    it.scoped("gives rows in the order of the query, as plain values, and no first one of none", () =>
      Effect.gen(function* () {
        const { countOf, db, insert, insertRow, names } = yield* things("rows")
        assert.isUndefined(yield* db.first(countOf("a")))
        yield* insert("b", 2)
        yield* db.run(insertRow({ name: "a", count: 1 }))
        yield* insert("c")
        assert.deepStrictEqual(yield* names, ["a", "b", "c"])
        assert.deepStrictEqual({ ...(yield* db.first(countOf("a"))) }, { count: 1 })
        assert.deepStrictEqual({ ...(yield* db.first(countOf("c"))) }, { count: null })
      })
    )

    it.scoped("keeps what a transaction leaves for its end, in order, and nothing of one that is taken back", () =>
      Effect.gen(function* () {
        const { db, insertRow, names } = yield* things("last")
        const last = (thing: string) => db.runLast(insertRow({ name: thing, count: null }))
        const remove = (thing: string) => db.runLast(db.sql`delete from suite_last where name = ${thing}`)
        yield* last("alone")
        yield* db.transaction(Effect.zipRight(last("kept"), Effect.zipRight(last("gone"), remove("gone"))))
        yield* db.transaction(Effect.zipRight(last("failed"), Effect.fail("no"))).pipe(Effect.flip)
        yield* db.transaction(
          Effect.gen(function* () {
            yield* last("before")
            yield* db.transaction(Effect.zipRight(last("inside"), Effect.fail("no"))).pipe(Effect.flip)
            yield* db.transaction(last("within"))
            yield* last("after")
          })
        )
        const both = [db.transaction(last("one")), db.transaction(Effect.zipRight(last("two"), Effect.die("no")))]
        yield* Effect.all(both.map(Effect.exit), all)
        assert.deepStrictEqual(yield* names, ["after", "alone", "before", "kept", "one", "within"])
        const failed = yield* Effect.exit(db.transaction(last("kept")))
        assert.isTrue(Exit.isFailure(failed))
        assert.deepStrictEqual(yield* names, ["after", "alone", "before", "kept", "one", "within"])
      })
    )

    it.scoped("takes back a transaction that fails, dies or is interrupted, and keeps one that succeeds", () =>
      Effect.gen(function* () {
        const { db, insert, names } = yield* things("ends")
        const begun = yield* Deferred.make<void>()
        const endless = insert("interrupted").pipe(
          Effect.zipRight(Deferred.succeed(begun, undefined)),
          Effect.zipRight(Effect.never)
        )
        yield* db.transaction(insert("kept"))
        yield* Effect.exit(db.transaction(Effect.zipRight(insert("failed"), Effect.fail("no"))))
        yield* Effect.exit(db.transaction(Effect.zipRight(insert("died"), Effect.die("no"))))
        const running = yield* Effect.fork(db.transaction(endless))
        yield* Deferred.await(begun)
        yield* Fiber.interrupt(running)
        assert.deepStrictEqual(yield* names, ["kept"])
      })
    )

    it.scoped("takes back of a transaction within another one only what that wrote", () =>
      Effect.gen(function* () {
        const { db, insert, names } = yield* things("nested")
        yield* db.transaction(
          Effect.gen(function* () {
            yield* insert("outer")
            yield* Effect.exit(db.transaction(Effect.zipRight(insert("inner"), Effect.fail("no"))))
            yield* db.transaction(insert("second"))
          })
        )
        assert.deepStrictEqual(yield* names, ["outer", "second"])
      })
    )

    it.scoped("shows nobody else what is not committed, and whoever wrote everything", () =>
      Effect.gen(function* () {
        const { db, insert, names } = yield* things("isolation")
        const written = yield* Deferred.make<ReadonlyArray<string>>()
        const goOn = yield* Deferred.make<void>()
        const writing = yield* Effect.fork(
          db.transaction(
            Effect.gen(function* () {
              yield* insert("mine")
              yield* Deferred.succeed(written, yield* names)
              yield* Deferred.await(goOn)
            })
          )
        )
        assert.deepStrictEqual(yield* Deferred.await(written), ["mine"])
        assert.deepStrictEqual(yield* names, [])
        yield* Deferred.succeed(goOn, undefined)
        yield* Fiber.join(writing)
        assert.deepStrictEqual(yield* names, ["mine"])
      })
    )

    it.scoped("loses no update of many at once", () =>
      Effect.gen(function* () {
        const { countOf, db, increment, insert } = yield* things("updates")
        yield* insert("counter", 0)
        yield* Effect.forEach(Array.from({ length: 40 }), () => increment("counter"), all)
        assert.strictEqual((yield* db.first(countOf("counter")))?.count, 40)
      })
    )

    it.scoped("counts a fiber that outlives the transaction it was forked in as outside of it", () =>
      Effect.gen(function* () {
        const { db, insert, names } = yield* things("forked")
        const over = yield* Deferred.make<void>()
        const forked = yield* db.transaction(Effect.forkDaemon(Effect.zipRight(Deferred.await(over), insert("later"))))
        yield* Effect.exit(
          db.transaction(
            Effect.gen(function* () {
              yield* insert("undone")
              return yield* Effect.fail("no")
            })
          )
        )
        yield* Deferred.succeed(over, undefined)
        yield* Fiber.join(forked)
        assert.deepStrictEqual(yield* names, ["later"])
      })
    )

    it.scoped("refuses a row that refers to nothing", () =>
      Effect.gen(function* () {
        const { db } = yield* things("referred")
        const { sql } = db
        yield* Effect.acquireRelease(
          db.run(sql`create table suite_referring (name text references suite_referred(name))`),
          () => db.run(sql`drop table suite_referring`)
        )
        const refer = (thing: string) => db.run(sql`insert into suite_referring (name) values (${thing})`)
        assert.isTrue(Exit.isFailure(yield* Effect.exit(refer("nothing"))))
        assert.isTrue(Exit.isFailure(yield* Effect.exit(db.transaction(refer("nothing")))))
      })
    )

    it.scoped("makes a statement that fails a defect, and works on after it", () =>
      Effect.gen(function* () {
        const { db, insert, names } = yield* things("failing")
        yield* insert("a")
        for (const failing of [insert("a"), db.transaction(Effect.zipRight(insert("b"), insert("a")))]) {
          const exit = yield* Effect.exit(failing)
          assert.isTrue(Exit.isFailure(exit) && Cause.isDie(exit.cause))
        }
        yield* insert("c")
        assert.deepStrictEqual(yield* names, ["a", "c"])
      })
    )
  })
