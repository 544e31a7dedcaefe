import { once } from "node:events"
import { connect as connectTo, createServer, type Server, type Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Database } from "@reins/core/store/Database"
import { CommitUnknown, isConnectionLost } from "@reins/core/store/LostConnection"
import * as Postgres from "@reins/core/store/Postgres"
import { aWhile } from "@reins/testing/process/Waiting"
import { administer, postgresDatabase } from "@reins/testing/store/Databases"
import { Cause, Context, Deferred, Effect, Exit, Fiber, Layer, Logger, Option, Redacted } from "effect"

/** The bell says that it has lost its connection. */
const quiet = Logger.remove(Logger.defaultLogger)

const connect = (url: Redacted.Redacted, options?: Postgres.PostgresOptions) =>
  Effect.map(Layer.build(Layer.provide(Postgres.layer(url, options), quiet)), (context) =>
    Context.get(context, Database)
  )

/** The same database behind a way there that breaks once a COMMIT of a test has passed. */
const cuttingAtCommit = (url: Redacted.Redacted) =>
  Effect.acquireRelease(
    Effect.async<Server>((resume) => {
      const { hostname, port } = new URL(Redacted.value(url))
      const proxy = createServer((client) => {
        const server = connectTo(Number(port), hostname)
        for (const socket of [client, server]) socket.on("error", () => {})
        let isOfTest = false
        client.on("data", (bytes) => {
          server.write(bytes)
          isOfTest ||= bytes.includes("insert into numbers")
          if (isOfTest && bytes.includes("commit")) client.destroy()
        })
        server.pipe(client)
        client.once("close", () => server.end())
      })
      proxy.listen(0, "127.0.0.1", () => resume(Effect.succeed(proxy)))
    }),
    (proxy) => Effect.sync(() => proxy.close())
  ).pipe(
    Effect.map((proxy) => {
      const through = new URL(Redacted.value(url))
      const address = proxy.address()
      through.host = `127.0.0.1:${typeof address === "object" ? address?.port : address}`
      return Redacted.make(through.href)
    })
  )

/** A database of its own with an empty table of numbers, and how to end every connection to it. */
const given = Effect.gen(function* () {
  const url = yield* postgresDatabase
  const db = yield* connect(url)
  const name = (yield* db.first(db.sql<{ name: string }>`select current_database() as name`))?.name
  yield* db.run(db.sql`create table numbers (n integer)`)
  return {
    url,
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

it.scopedLive("a connection that has had no answer for too long is broken, and no other one", () =>
  Effect.gen(function* () {
    const { db, written } = yield* given
    const endless = yield* Effect.fork(Effect.exit(db.run(db.sql`insert into numbers (n) select 1 from pg_sleep(600)`)))
    const isRunning = db.first(db.sql`select 1 from pg_stat_activity where datname = current_database()
      and state = 'active' and wait_event = 'PgSleep'`)
    yield* Effect.repeat(Effect.zipRight(aWhile, isRunning), { until: (row) => row !== undefined })
    yield* db.breakSilent(60_000)
    assert.isDefined(yield* isRunning)
    yield* db.breakSilent(0)
    assert.isTrue(isConnectionLost(defectOf(yield* Fiber.join(endless))))
    assert.deepStrictEqual(yield* written, [])
  })
)

it.scopedLive("a commit that the server refuses because it ends is run again", () =>
  Effect.gen(function* () {
    const { db, write, written } = yield* given
    yield* db.run(db.sql`create sequence commits`)
    yield* db.run(db.sql`create function end_connection() returns trigger language plpgsql as
      'begin if nextval(''commits'') = 1 then perform pg_terminate_backend(pg_backend_pid()); end if; return null; end'`)
    yield* db.run(db.sql`create constraint trigger at_commit after insert on numbers deferrable initially deferred
      for each row execute function end_connection()`)
    let runs = 0
    yield* db.transaction(
      Effect.zipRight(
        Effect.sync(() => runs++),
        write(1)
      )
    )
    assert.deepStrictEqual([runs, yield* written], [2, [1]])
  })
)

it.scopedLive(
  "a transaction that does not go on is ended for those who wait for it, and is run again when it does",
  () =>
    Effect.gen(function* () {
      const { db: other, url, write, written } = yield* given
      const db = yield* connect(url, { idleInTransactionMs: 500 })
      yield* write(1)
      // Its rows are read, so that it has taken place before the next step.
      const increase = (base: Database["Type"]) => base.all(base.sql`update numbers set n = n + 1 returning n`)
      const [begun, otherIsDone] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      let runs = 0
      const stalled = yield* Effect.fork(
        db.transaction(
          Effect.sync(() => runs++).pipe(
            Effect.zipRight(increase(db)),
            Effect.zipRight(Deferred.succeed(begun, undefined)),
            Effect.zipRight(Deferred.await(otherIsDone)),
            Effect.zipRight(increase(db))
          )
        )
      )
      yield* Deferred.await(begun)
      yield* other.transaction(increase(other))
      assert.deepStrictEqual(yield* written, [2])
      yield* Deferred.succeed(otherIsDone, undefined)
      yield* Fiber.join(stalled)
      assert.deepStrictEqual([runs, yield* written], [2, [4]])
    })
)

it.scopedLive("a commit whose connection breaks is not run again, since it may have taken place", () =>
  Effect.gen(function* () {
    const { url, written } = yield* given
    const db = yield* connect(yield* cuttingAtCommit(url))
    let runs = 0
    const work = Effect.zipRight(
      Effect.sync(() => runs++),
      db.run(db.sql`insert into numbers (n) values (1)`)
    )
    assert.instanceOf(defectOf(yield* Effect.exit(db.transaction(work))), CommitUnknown)
    assert.strictEqual(runs, 1)
    yield* Effect.repeat(Effect.zipRight(aWhile, written), { until: (numbers) => numbers.length === 1 })
  })
)

it.scopedLive("a statement that is refused is no lost connection", () =>
  Effect.gen(function* () {
    const { db } = yield* given
    const exit = yield* Effect.exit(db.run(db.sql`select * from nothing`))
    assert.isFalse(isConnectionLost(defectOf(exit)))
  })
)

describe("a database that does not let anybody in says", () => {
  const saidOf = async (serve: (socket: Socket) => void) => {
    const server = createServer(serve).listen(0, "127.0.0.1")
    await once(server, "listening")
    const address = server.address()
    const port = typeof address === "object" ? address?.port : undefined
    try {
      const opened = Layer.build(Postgres.layerAsIs(Redacted.make(`postgres://reins@127.0.0.1:${port}/reins`)))
      const failure = await Effect.runPromise(Effect.flip(Effect.scoped(opened)))
      return failure.message
    } finally {
      server.close()
    }
  }

  it("that it gave no answer in time", async () => {
    assert.include(await saidOf((socket) => void socket.on("error", () => undefined)), "cannot be reached (ETIMEDOUT)")
  }, 30_000)

  it("that it hung up", async () => {
    assert.include(await saidOf((socket) => void socket.end()), "cannot be reached (ECONNRESET)")
  })
})
