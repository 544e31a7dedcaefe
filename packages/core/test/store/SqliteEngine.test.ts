import { assert, it } from "@effect/vitest"
import { Database } from "@reins/core/store/Database"
import * as Sqlite from "@reins/core/store/Sqlite"
import { aMoment } from "@reins/testing/process/Waiting"
import { Cause, Deferred, Effect, Exit, Fiber, FiberId } from "effect"
import { codeOf, nextTurn, openThings, type Thing } from "./SqliteFiles.js"

const all = { concurrency: "unbounded" } as const

/** Acts when so many microtasks have run one after the other. */
const afterMicrotasks = (count: number, act: () => void): void =>
  count === 0 ? act() : queueMicrotask(() => afterMicrotasks(count - 1, act))

it.scopedLive("commands take turns in the order in which they came, also those that yield, and end in that order", () =>
  Effect.gen(function* () {
    const { committed, db, insert } = yield* openThings()
    const names = Array.from({ length: 300 }, (_, index) => String(index).padStart(3, "0"))
    const begun: Array<string> = []
    const ended: Array<string> = []
    yield* Effect.forEach(
      names,
      (name, index) =>
        db
          .transaction(
            Effect.gen(function* () {
              begun.push(name)
              if (index % 3 === 0) yield* nextTurn
              yield* insert(name, index)
              if (index % 5 === 0) yield* Effect.yieldNow()
              if (index % 7 === 0) return yield* Effect.fail("refused")
            })
          )
          .pipe(Effect.ignore, Effect.zipRight(Effect.sync(() => ended.push(name)))),
      all
    )
    assert.deepStrictEqual(begun, names)
    assert.deepStrictEqual(ended, names)
    assert.deepStrictEqual(
      committed(),
      names.filter((_, index) => index % 7 !== 0)
    )
  })
)

it.scopedLive("nobody of a steady crowd is overtaken by who comes after", () =>
  Effect.gen(function* () {
    const { db, insert } = yield* openThings()
    let arrivals = 0
    const overtaken: Array<number> = []
    let last = -1
    const client = (name: number) =>
      Effect.forEach(Array.from({ length: 20 }), (_, round) =>
        Effect.suspend(() => {
          const arrival = arrivals++
          return Effect.map(db.transaction(insert(`${name} ${round}`)), () => {
            if (arrival < last) overtaken.push(arrival)
            last = arrival
          })
        })
      )
    yield* Effect.forEach(
      Array.from({ length: 32 }, (_, name) => name),
      client,
      all
    )
    assert.strictEqual(arrivals, 640)
    assert.deepStrictEqual(overtaken, [])
  })
)

it.scopedLive("what fails or dies takes back its own writes and those of no other command", () =>
  Effect.gen(function* () {
    const { committed, db, insert } = yield* openThings()
    const exits = yield* Effect.forEach(
      [
        insert("kept 1"),
        Effect.zipRight(insert("failed"), Effect.fail("no")),
        Effect.zipRight(insert("died"), Effect.dieMessage("bug")),
        Effect.zipRight(insert("interrupted"), Effect.interrupt),
        Effect.zipRight(insert("refused"), insert("kept 1")),
        insert("kept 2")
      ],
      (command) => Effect.exit(db.transaction(command)),
      all
    )
    assert.deepStrictEqual(exits.map(Exit.isSuccess), [true, false, false, false, false, true])
    assert.strictEqual(exits[4] && codeOf(exits[4]), "SQLITE_CONSTRAINT_PRIMARYKEY")
    assert.deepStrictEqual(committed(), ["kept 1", "kept 2"])
  })
)

it.scopedLive("a transaction within a transaction takes back what it wrote when it fails, and no more", () =>
  Effect.gen(function* () {
    const { committed, db, insert } = yield* openThings()
    const inner = db.transaction(
      Effect.all([
        insert("inner"),
        Effect.either(db.transaction(Effect.zipRight(insert("innermost"), Effect.fail("no"))))
      ])
    )
    const lost = db.transaction(Effect.zipRight(insert("lost"), Effect.fail("no")))
    yield* db.transaction(Effect.all([insert("outer"), inner, Effect.either(lost), insert("after")]))
    assert.sameMembers(committed(), ["outer", "inner", "after"])
    yield* Effect.either(db.transaction(Effect.zipRight(db.transaction(insert("taken back")), Effect.fail("no"))))
    assert.notInclude(committed(), "taken back")
  })
)

it.scopedLive("a fiber that was forked in a transaction is in it until that ends, and outside from then on", () =>
  Effect.gen(function* () {
    const { byName, committed, db, insert } = yield* openThings()
    const over = yield* Deferred.make<void>()
    const child = yield* db.transaction(
      Effect.gen(function* () {
        yield* insert("parent")
        const found = yield* Effect.fork(db.first(byName("parent")))
        assert.isDefined(yield* Fiber.join(found))
        return yield* Effect.forkDaemon(
          Effect.gen(function* () {
            yield* Deferred.await(over)
            yield* Effect.either(db.transaction(Effect.zipRight(insert("given up"), Effect.fail("no"))))
            yield* insert("written outside")
            yield* db.transaction(insert("child"))
          })
        )
      })
    )
    // Somebody else's transaction is open while the child begins its own.
    const other = yield* Effect.fork(
      db.transaction(
        Effect.all([Deferred.succeed(over, undefined), nextTurn, insert("other"), nextTurn, Effect.fail("no")])
      )
    )
    yield* Fiber.await(other)
    yield* Fiber.join(child)
    assert.sameMembers(committed(), ["parent", "written outside", "child"])
  })
)

it.scopedLive("who waits and is interrupted leaves the queue, and its turn goes to the next", () =>
  Effect.gen(function* () {
    const { committed, db, insert } = yield* openThings()
    const holding = yield* Deferred.make<void>()
    const go = yield* Deferred.make<void>()
    const holder = yield* Effect.fork(
      db.transaction(Effect.all([insert("holder"), Deferred.succeed(holding, undefined), Deferred.await(go)]))
    )
    yield* Deferred.await(holding)
    const leaving = yield* Effect.fork(db.transaction(insert("left")))
    const staying = yield* Effect.fork(db.transaction(insert("stayed")))
    yield* nextTurn
    yield* Fiber.interrupt(leaving)
    // It is interrupted when its turn has just come, too: the holder passes the turn on before the interruption is seen.
    const unlucky = yield* Effect.fork(db.transaction(insert("unlucky")))
    yield* nextTurn
    yield* Deferred.succeed(go, undefined)
    yield* Fiber.interruptFork(unlucky)
    yield* Fiber.join(holder)
    yield* Fiber.join(staying)
    assert.includeMembers(committed(), ["holder", "stayed"])
    assert.notInclude(committed(), "left")
    yield* insert("later")
    assert.include(committed(), "later")
  })
)

it.scopedLive(
  "a command that is interrupted at whichever step leaves all of it or nothing, and the next ones go on",
  () =>
    Effect.gen(function* () {
      const { committed, db, insert } = yield* openThings()
      for (let steps = 0; steps < 40; steps++) {
        const fiber = yield* Effect.fork(
          db.transaction(
            Effect.all([insert(`${steps} a`), Effect.yieldNow(), db.transaction(insert(`${steps} b`)), nextTurn])
          )
        )
        for (let step = 0; step < steps; step++) yield* step % 4 === 3 ? nextTurn : Effect.yieldNow()
        const exit = yield* Fiber.interrupt(fiber)
        const written = committed().filter((name) => name.startsWith(`${steps} `))
        // A caller that is interrupted while the commit is under way is not told of it.
        assert.include(Exit.isSuccess(exit) ? [2] : [0, 2], written.length)
        yield* insert(`after ${steps}`)
      }
      assert.lengthOf(
        committed().filter((name) => name.startsWith("after")),
        40
      )
    })
)

it.scopedLive(
  "an interruption at any instant between the turn before and its own leaves a turn to those after it",
  () =>
    Effect.gen(function* () {
      const { committed, db, insert } = yield* openThings({ synchronous: "off" })
      for (let instant = 0; instant < 40; instant++) {
        const before = yield* Effect.fork(
          db.transaction(
            Effect.zipRight(
              insert(`before ${instant}`),
              Effect.sync(() => afterMicrotasks(instant, () => waiting.unsafeInterruptAsFork(FiberId.none)))
            )
          )
        )
        yield* Effect.yieldNow()
        const waiting = yield* Effect.fork(db.transaction(insert(`waiting ${instant}`)))
        yield* Effect.yieldNow()
        yield* insert(`after ${instant}`)
        yield* Fiber.join(before)
        const isKept = Exit.isSuccess(yield* Fiber.await(waiting))
        assert.includeMembers(committed(), [`before ${instant}`, `after ${instant}`])
        if (isKept) assert.include(committed(), `waiting ${instant}`)
      }
    })
)

it.scopedLive("a statement that writes outside of a transaction is one of its own", () =>
  Effect.gen(function* () {
    const { committed, db, insert } = yield* openThings()
    yield* insert("a")
    const row = yield* db.first(db.sql`update things set size = 7 where name = 'a' returning size`)
    assert.deepStrictEqual(row, { size: 7 })
    assert.deepStrictEqual(committed(), ["a"])
    assert.strictEqual(codeOf(yield* Effect.exit(insert("a"))), "SQLITE_CONSTRAINT_PRIMARYKEY")
    const both = db.all(db.sql<{ name: string }>`with added as (select 1) select name from things`)
    assert.deepStrictEqual(yield* both, [{ name: "a" }])
  })
)

it.scopedLive("a write waits for one of another process, and everybody else goes on meanwhile", () =>
  Effect.gen(function* () {
    const { byName, committed, db, insert, other } = yield* openThings()
    yield* insert("before")
    other.exec("begin immediate")
    const waiting = yield* Effect.fork(Effect.all([insert("first"), insert("second")], all))
    const leaving = yield* Effect.fork(insert("left"))
    let longest = 0
    for (let turn = 0; turn < 100; turn++) {
      const at = performance.now()
      yield* aMoment
      assert.isDefined(yield* db.first(byName("before")))
      longest = Math.max(longest, performance.now() - at)
    }
    // SQLite's own patience would hold up everybody for half a minute.
    assert.isBelow(longest, 10_000)
    yield* Fiber.interrupt(leaving)
    assert.deepStrictEqual(committed(), ["before"])
    other.exec("commit")
    yield* Fiber.join(waiting)
    assert.sameMembers(committed(), ["before", "first", "second"])
  })
)

it.scopedLive("a write that has waited long enough for another process dies, and one that came later waits on", () =>
  Effect.gen(function* () {
    const { committed, insert, other } = yield* openThings({ busyMs: 1500 })
    other.exec("begin immediate")
    const first = yield* Effect.fork(insert("too long"))
    // Nothing happens while a write waits: the later one has to begin when most of the first one's time is over.
    yield* Effect.sleep(1000)
    const later = yield* Effect.fork(insert("later"))
    assert.strictEqual(codeOf(yield* Fiber.await(first)), "SQLITE_BUSY")
    other.exec("commit")
    yield* Fiber.join(later)
    assert.deepStrictEqual(committed(), ["later"])
  })
)

it.scopedLive("who has written reads it, though the turn of the loop has begun with another state", () =>
  Effect.gen(function* () {
    const { byName, db, insert } = yield* openThings()
    for (let round = 0; round < 50; round++) {
      assert.isUndefined(yield* db.first(byName(`${round}`)))
      yield* db.transaction(insert(`${round}`))
      assert.isDefined(yield* db.first(byName(`${round}`)))
    }
  })
)

it.scopedLive("who has written reads it, though somebody else has read while it was written", () =>
  Effect.gen(function* () {
    const { byName, db, insert } = yield* openThings()
    const isWriting = yield* Deferred.make<void>()
    const reading = yield* Effect.fork(Effect.zipRight(Deferred.await(isWriting), db.first(byName("a"))))
    yield* nextTurn
    const read = yield* Deferred.make<Thing | undefined>()
    yield* db.transaction(
      Effect.gen(function* () {
        yield* insert("a")
        yield* Deferred.succeed(isWriting, undefined)
        yield* Deferred.succeed(read, yield* Fiber.join(reading))
      })
    )
    assert.isDefined(yield* db.first(byName("a")))
    assert.isUndefined(yield* Deferred.await(read))
  })
)

it.scopedLive("an answer is kept until somebody commits, in whichever process, and is never kept longer", () =>
  Effect.gen(function* () {
    const { byName, db, insert, other } = yield* openThings()
    yield* insert("a", 1)
    const kept = yield* db.first(byName("a"))
    yield* nextTurn
    assert.strictEqual(yield* db.first(byName("a")), kept)
    // Nobody can change an answer that others get as well.
    assert.isTrue(Object.isFrozen(kept))
    const change = other.prepare("update things set size = ? where name = 'a'")
    for (let size = 2; size < 200; size++) {
      change.run(size)
      yield* nextTurn
      assert.strictEqual((yield* db.first(byName("a")))?.size, size)
    }
    // Writes of others that are not committed, or were taken back, change nothing.
    const last = yield* db.first(byName("a"))
    other.exec("begin immediate; update things set size = 0")
    yield* nextTurn
    assert.strictEqual(yield* db.first(byName("a")), last)
    other.exec("rollback")
    yield* nextTurn
    assert.strictEqual(yield* db.first(byName("a")), last)
    other.exec("delete from things")
    yield* nextTurn
    assert.isUndefined(yield* db.first(byName("a")))
    assert.isUndefined(yield* db.first(byName("a")))
  })
)

it.scopedLive("values that look alike when they are joined, or but for their type, have answers of their own", () =>
  Effect.gen(function* () {
    const { db } = yield* openThings()
    const { sql } = db
    const pair = db.prepare((a: unknown, b: unknown) => sql`select ${a} as a, ${b} as b`)
    const values = [
      "",
      "1",
      "1:1",
      "\n",
      "a\nb",
      "string 1 1",
      "null",
      1,
      11,
      null,
      Buffer.from("1"),
      Buffer.from("null")
    ]
    for (let round = 0; round < 2; round++)
      for (const a of values) for (const b of values) assert.deepStrictEqual(yield* db.first(pair(a, b)), { a, b })
  })
)

it.effect("a failure while the database is closed ends what waits", () =>
  Effect.gen(function* () {
    const closed = yield* Effect.scoped(
      Effect.gen(function* () {
        const { db, insert } = yield* openThings()
        const begun = yield* Deferred.make<void>()
        const running = yield* Effect.forkDaemon(
          db.transaction(Effect.all([insert("a"), Deferred.succeed(begun, undefined), nextTurn, insert("b")]))
        )
        yield* Deferred.await(begun)
        return { running, waiting: yield* Effect.forkDaemon(insert("c")) }
      })
    )
    const fibers: ReadonlyArray<Fiber.Fiber<unknown>> = [closed.running, closed.waiting]
    for (const fiber of fibers) {
      const exit = yield* Fiber.await(fiber)
      assert.isTrue(Exit.isFailure(exit) && Cause.isDie(exit.cause))
    }
  })
)

it.effect("two databases of one process do not take each other's transactions for theirs", () =>
  Effect.gen(function* () {
    const one = yield* Database
    const two = yield* openThings()
    yield* Effect.either(one.transaction(Effect.zipRight(two.db.transaction(two.insert("a")), Effect.fail("no"))))
    assert.deepStrictEqual(two.committed(), ["a"])
  }).pipe(Effect.scoped, Effect.provide(Sqlite.layerMemory))
)
