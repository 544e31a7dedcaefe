import { assert, describe, it } from "@effect/vitest"
import { storageFaultOf } from "@reins/core/store/StorageFault"
import { Effect, Exit } from "effect"
import { codeOf, countCommits, openThings, replaceLog } from "./SqliteFiles.js"

const all = { concurrency: "unbounded" } as const

/** Large enough that a few of them fill more than a page. */
const long = (index: number): string => `${String(index).padStart(4, "0")} ${"x".repeat(2000)}`

describe("an acknowledged write", () => {
  it.scopedLive("is in the file when it is acknowledged, and those that waited together share one commit", () =>
    Effect.gen(function* () {
      const { committed, db, file, insert } = yield* openThings()
      assert.deepStrictEqual(yield* db.transaction(db.first(db.sql.unsafe("pragma synchronous"))), { synchronous: 2 })
      // Else the savepoint of each command makes a temporary file.
      assert.deepStrictEqual(yield* db.transaction(db.first(db.sql.unsafe("pragma temp_store"))), { temp_store: 2 })
      const before = countCommits(file)
      const callers = Array.from({ length: 32 }, (_, index) => `caller ${index}`)
      const seen = yield* Effect.forEach(
        callers,
        (name) => Effect.map(db.transaction(insert(name)), () => committed().includes(name)),
        all
      )
      assert.deepStrictEqual(
        seen,
        callers.map(() => true)
      )
      assert.strictEqual(countCommits(file) - before, 1)
      yield* insert("one more")
      assert.strictEqual(countCommits(file) - before, 2)
    })
  )

  it.scopedLive("has been through an fsync: where that fails, nobody is told of success", () =>
    Effect.gen(function* () {
      const { committed, db, file, insert } = yield* openThings()
      yield* insert("before")
      const restore = replaceLog(file, "/dev/null", "w")
      const exits = yield* Effect.forEach(
        Array.from({ length: 16 }, (_, index) => `lost ${index}`),
        (name, index) =>
          Effect.exit(
            db.transaction(index % 4 === 0 ? Effect.zipRight(insert(name), Effect.fail("no")) : insert(name))
          ),
        all
      )
      restore()
      // Also who failed by itself is not told so: it may have failed for what another one wrote.
      assert.deepStrictEqual(
        exits.map(codeOf),
        exits.map(() => "SQLITE_IOERR_FSYNC")
      )
      yield* insert("after")
      assert.deepStrictEqual(committed(), ["after", "before"])
    })
  )
})

describe("a fault of the disk in a batch", () => {
  for (const [name, replacement, flags, code, fault] of [
    ["no room", "/dev/full", "w", "SQLITE_FULL", "disk_full"],
    ["an I/O error", "/dev/null", "r", "SQLITE_IOERR_WRITE", "io_error"]
  ] as const) {
    it.scopedLive(`${name} at the commit fails all of it, and the next one is fit again`, () =>
      Effect.gen(function* () {
        const { committed, db, file, insert } = yield* openThings()
        yield* insert("before")
        const restore = replaceLog(file, replacement, flags)
        const exits = yield* Effect.forEach(
          Array.from({ length: 8 }, (_, index) => `lost ${index}`),
          (thing) => Effect.exit(db.transaction(insert(thing))),
          all
        )
        restore()
        for (const exit of exits) {
          assert.strictEqual(codeOf(exit), code)
          assert.strictEqual(Exit.isFailure(exit) && storageFaultOf(exit.cause), fault)
        }
        assert.deepStrictEqual(committed(), ["before"])
        yield* Effect.forEach(["one", "two"], (thing) => db.transaction(insert(thing)), all)
        assert.sameMembers(committed(), ["before", "one", "two"])
      })
    )
  }

  it.scopedLive("a file that may not grow refuses exactly what is not acknowledged, and takes more when it may", () =>
    Effect.gen(function* () {
      const { committed, db, insert, other } = yield* openThings()
      const limit = (pages: number) => db.transaction(db.run(db.sql.unsafe(`pragma max_page_count = ${pages}`)))
      const write = (first: number, count: number) =>
        Effect.forEach(
          Array.from({ length: count }, (_, index) => long(first + index)),
          (name) => Effect.map(Effect.exit(db.transaction(insert(name))), (exit) => ({ name, exit })),
          all
        )
      yield* limit(Number(other.pragma("page_count", { simple: true })) + 40)
      const written = [
        ...(yield* write(0, 10)),
        ...(yield* write(10, 60)),
        ...(yield* write(70, 5)),
        ...(yield* Effect.forEach(
          Array.from({ length: 20 }, (_, index) => 75 + index),
          (index) => write(index, 1)
        )).flat()
      ]
      const acknowledged = written.filter(({ exit }) => Exit.isSuccess(exit)).map(({ name }) => name)
      assert.isAtLeast(acknowledged.length, 10)
      assert.isBelow(acknowledged.length, written.length)
      for (const { exit } of written) if (Exit.isFailure(exit)) assert.strictEqual(codeOf(exit), "SQLITE_FULL")
      assert.sameMembers(committed(), acknowledged)
      yield* limit(100_000)
      yield* insert("room again")
      assert.sameMembers(committed(), [...acknowledged, "room again"])
    })
  )

  it.scopedLive("a command that goes on after SQLite has ended the transaction writes nothing", () =>
    Effect.gen(function* () {
      const { committed, db, insert, other } = yield* openThings()
      yield* db.transaction(
        db.run(db.sql.unsafe(`pragma max_page_count = ${Number(other.pragma("page_count", { simple: true })) + 4}`))
      )
      const fill = Effect.forEach(
        Array.from({ length: 20 }, (_, index) => index),
        (index) => insert(long(index))
      )
      const [before, going, after] = yield* Effect.forEach(
        [
          insert("before"),
          Effect.exit(fill).pipe(
            Effect.zipRight(Effect.exit(insert("on its own"))),
            Effect.zipRight(Effect.exit(db.transaction(insert("within a savepoint")))),
            Effect.as("all is well")
          ),
          insert("after")
        ],
        (command) => Effect.exit(db.transaction<unknown, never, never>(command)),
        all
      )
      assert.strictEqual(before && codeOf(before), "SQLITE_FULL")
      assert.strictEqual(going && codeOf(going), "SQLITE_FULL")
      // It came in the next batch, since that one could not go on.
      assert.isTrue(after !== undefined && Exit.isSuccess(after))
      assert.deepStrictEqual(committed(), ["after"])
    })
  )
})
