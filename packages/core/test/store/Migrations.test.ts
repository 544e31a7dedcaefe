import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SqlClient } from "@effect/sql"
import { assert, describe, it } from "@effect/vitest"
import { release } from "@reins/base/base/Release"
import { Bell, jobsTopic } from "@reins/core/store/Bell"
import { Database } from "@reins/core/store/Database"
import { serverLock } from "@reins/core/store/DataDirectory"
import {
  type AtWork,
  known,
  type MigrationRefused,
  migrate,
  pending,
  rulesOf,
  stateOf
} from "@reins/core/store/Migrations"
import { nodesAtWork } from "@reins/core/store/PgAtWork"
import * as Postgres from "@reins/core/store/Postgres"
import * as Sqlite from "@reins/core/store/Sqlite"
import { driverFor } from "@reins/core/store/SqliteDriver"
import { contract, expand, type Step, statements } from "@reins/core/store/Step"
import { steps } from "@reins/core/store/Steps"
import { aMoment } from "@reins/testing/process/Waiting"
import { postgresDatabase } from "@reins/testing/store/Databases"
import { Context, Effect, Fiber, Layer, type Scope } from "effect"

const temporary = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "reins-migrations-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

/** A database that two releases open one after the other, and the same as it is. */
const places: ReadonlyArray<{
  readonly name: string
  readonly place: Effect.Effect<
    {
      readonly open: Layer.Layer<never, MigrationRefused | Postgres.DatabaseUnreachable | Sqlite.DataDirectoryUnusable>
      readonly asIs: Layer.Layer<Database>
    },
    never,
    Scope.Scope
  >
}> = [
  {
    name: "SQLite",
    place: Effect.map(temporary, (dataDir) => ({
      open: Layer.discard(Sqlite.layer(dataDir)),
      asIs: Layer.orDie(Sqlite.layerFileAsIs(dataDir))
    }))
  },
  {
    name: "PostgreSQL",
    place: Effect.map(postgresDatabase, (url) => ({
      open: Layer.discard(Postgres.layer(url)),
      asIs: Layer.orDie(Postgres.layerAsIs(url))
    }))
  }
]

const onClient = <A, E, R>(effect: Effect.Effect<A, E, R | SqlClient.SqlClient>) =>
  Effect.flatMap(Database, ({ sql }) => Effect.provideService(effect, SqlClient.SqlClient, sql))

const state = onClient(stateOf)
const stepsBehind = Effect.map(state, ({ schema }) => schema)

/** The steps of this release with more of a later one. */
const next = (later: Readonly<Record<string, Step>>) => rulesOf("9.2.0", { ...steps, ...later })

const more = expand(statements(["create table more (id text primary key)"]))

const nobody = { others: { list: Effect.succeed([]), keepOut: Effect.void } }

/** A process that holds a lock file. */
const holderOf = (file: string) =>
  Effect.acquireRelease(
    Effect.tryPromise(async () => {
      const program = `const lock = new (require("${driverFor(process.versions.node)}"))(process.argv[1], { timeout: 0 })
        lock.exec("begin exclusive"); console.log("held"); process.stdin.resume()`
      const child = spawn(process.execPath, ["-e", program, file], { stdio: ["pipe", "pipe", "pipe"] })
      const said = await Promise.race([once(child.stdout, "data"), once(child.stderr, "data")])
      if (!String(said).startsWith("held")) throw new Error(String(said))
      return child
    }),
    (child) => Effect.sync(() => child.kill("SIGKILL"))
  ).pipe(
    Effect.map((child) => ({
      end: Effect.promise(async () => {
        const ended = once(child, "exit")
        child.stdin.destroy()
        await ended
      })
    }))
  )

for (const { name, place } of places) {
  describe(`Migrations on ${name}`, () => {
    it.scoped("an empty database gets every step, and a second start takes none", () =>
      Effect.gen(function* () {
        const { asIs, open } = yield* place
        for (const _ of ["first", "second"]) {
          yield* Effect.scoped(Layer.build(open))
          assert.deepStrictEqual(yield* Effect.provide(stepsBehind, asIs), known)
        }
        assert.isEmpty(pending(known))
        assert.deepStrictEqual(pending([]), known)
      })
    )

    for (const [what, statement, words] of [
      [
        "that needs a newer release",
        "update agreements set value = '9.8.7' where name = 'min_release'",
        /^The data needs release 9\.8\.7 of Reins or a newer one, and this is \d.*: run such a release, or restore a backup.*nothing was changed\.$/
      ],
      [
        "with another step of a number that is known",
        "update effect_sql_migrations set name = 'other' where migration_id = 1",
        /^The data has steps .* none of \d.* \(1_other\): run the release that made them, or restore/
      ]
    ] as const) {
      it.scoped(`a database ${what} is refused in one sentence and left as it is`, () =>
        Effect.gen(function* () {
          const { asIs, open } = yield* place
          yield* Effect.scoped(Layer.build(open))
          const before = yield* Effect.provide(
            Effect.flatMap(Database, (db) => Effect.zipRight(db.run(db.sql.unsafe(statement)), state)),
            asIs
          )
          const refused = yield* Effect.flip(Effect.scoped(Layer.build(open)))
          assert.strictEqual(refused._tag, "DatabaseNewer")
          assert.match(refused.message, words)
          assert.deepStrictEqual(yield* Effect.provide(state, asIs), before)
        })
      )
    }

    it.scoped("a database that a newer release has added to is worked with, and left as it is", () =>
      Effect.gen(function* () {
        const { asIs, open } = yield* place
        yield* Effect.scoped(Layer.build(open))
        const expanded = yield* Effect.provide(
          Effect.zipRight(onClient(next({ "9000_more": more }).migrateBeside(nobody)), state),
          asIs
        )
        assert.deepStrictEqual(expanded.schema, [...known, { id: 9000, name: "more" }])
        yield* Effect.scoped(Layer.build(open))
        assert.deepStrictEqual(yield* Effect.provide(onClient(migrate), asIs), [])
        assert.deepStrictEqual(yield* Effect.provide(state, asIs), expanded)
        assert.isEmpty(pending(expanded.schema))
      })
    )

    it.scoped("a step that takes away waits for the releases that use it, and keeps them out afterwards", () =>
      Effect.gen(function* () {
        const { asIs, open } = yield* place
        yield* Effect.scoped(Layer.build(open))
        const later = next({ "9000_more": more, "9001_less": contract("9.1.0", statements(["drop table more"])) })
        const beside = (...atWork: ReadonlyArray<AtWork>) =>
          onClient(later.migrateBeside({ others: { list: Effect.succeed(atWork), keepOut: Effect.void } }))
        yield* Effect.provide(
          Effect.gen(function* () {
            const before = yield* state
            const old = { name: "the node b", release: "9.0.9" }
            const unknown = { name: "the server of /data", release: null }
            const refused = yield* Effect.flip(beside(old, { name: "the node c", release: "9.1.0" }, unknown))
            assert.strictEqual(
              refused.message,
              "The step 9001_less takes away what releases before 9.1.0 use, and such a release is at work: stop the node b (9.0.9), " +
                "the server of /data (of a release that is not known), or bring it to 9.1.0 first; nothing was changed."
            )
            assert.deepStrictEqual(yield* state, before)
            assert.lengthOf(yield* beside({ name: "the node c", release: "9.1.0-next.1" }), 2)
            assert.strictEqual((yield* state).minRelease, "9.1.0")
            assert.isEmpty(yield* beside(old))
          }),
          asIs
        )
        assert.strictEqual((yield* Effect.flip(Effect.scoped(Layer.build(open))))._tag, "DatabaseNewer")
      })
    )
  })
}

it.scoped("servers that start on one empty database at once make its schema once", () =>
  Effect.gen(function* () {
    const url = yield* postgresDatabase
    const start = Effect.scoped(Layer.build(Postgres.layer(url)))
    yield* Effect.all([start, start, start], { concurrency: "unbounded" })
    assert.deepStrictEqual(yield* Effect.provide(stepsBehind, Postgres.layerAsIs(url)), known)
  })
)

it.scoped("the nodes that are alive and servers without a name are at work, and a lost node is not", () =>
  Effect.gen(function* () {
    const db = yield* Database
    const insert = (name: string, left: number) =>
      db.run(db.sql`insert into nodes
      (name, boot_id, disk_id, address, role, state, epoch, expires_at, providers, load, release)
      values (${name}, 'b', 'd', 'a', 'all', 'active', 1, (extract(epoch from now()) * 1000)::bigint + ${left}::bigint, '[]', 0, '0.0.9')`)
    yield* insert("alive", 60_000)
    yield* insert("lost", -1)
    const listed = onClient(nodesAtWork.list)
    assert.deepStrictEqual(yield* listed, [{ name: "the node alive", release: "0.0.9" }])
    const bell = yield* Bell
    yield* Effect.acquireRelease(
      Effect.sync(() => bell.listen(jobsTopic, () => {})),
      (stop) => Effect.sync(stop)
    )
    while ((yield* listed).length === 1) yield* aMoment
    assert.deepStrictEqual((yield* listed)[1], { name: "a server without --node", release })
  }).pipe(Effect.provide(Layer.unwrapScoped(Effect.map(postgresDatabase, (url) => Postgres.layer(url)))))
)

it.scopedLive("a step gives way to whoever holds its table, and says so when that takes too long", () =>
  Effect.gen(function* () {
    const url = yield* postgresDatabase
    const opened = Effect.map(Layer.build(Postgres.layer(url)), Context.get(Database))
    const [one, other] = [yield* opened, yield* opened]
    const { migrateBeside } = next({
      "9000_wide": expand(statements(["alter table agreements add column extra text"]))
    })
    const widened = (patienceMs: number) =>
      Effect.provideService(migrateBeside({ ...nobody, patienceMs }), SqlClient.SqlClient, one.sql)
    const holding = yield* Effect.makeLatch(false)
    const enough = yield* Effect.makeLatch(false)
    const holder = yield* other
      .transaction(
        Effect.gen(function* () {
          yield* other.all(other.sql`select name from agreements`)
          yield* holding.open
          yield* enough.await
        })
      )
      .pipe(Effect.forkScoped)
    yield* holding.await
    const refused = yield* Effect.flip(widened(0))
    assert.match(
      refused.message,
      /^The schema cannot be changed while .*: try again when that has ended\. The step that waited was not taken, and steps before it stay\.$/
    )
    const waiting = yield* Effect.fork(widened(60_000))
    // Nobody who only reads waits for the step that waits.
    yield* other.all(other.sql`select value from agreements`)
    yield* enough.open
    yield* Fiber.join(holder)
    assert.deepStrictEqual(yield* Fiber.join(waiting), [{ id: 9000, name: "wide" }])
  })
)

it.scoped("a server of a data directory is at work for other processes", () =>
  Effect.gen(function* () {
    const dataDir = yield* temporary
    const listed = Effect.provide(onClient(Sqlite.serverAtWork(dataDir).list), Sqlite.layerMemory)
    assert.isEmpty(yield* listed)
    yield* Effect.scoped(
      Effect.gen(function* () {
        yield* Layer.build(Sqlite.lockLayer(dataDir))
        assert.isEmpty(yield* listed, "this process is no other one")
      })
    )
    const server = yield* holderOf(serverLock(dataDir))
    assert.deepStrictEqual(yield* listed, [{ name: `the server of ${dataDir}`, release: null }])
    yield* server.end
    yield* Effect.scoped(
      Effect.gen(function* () {
        yield* Effect.provide(onClient(Sqlite.serverAtWork(dataDir).keepOut), Sqlite.layerMemory)
        const late = yield* Effect.flip(holderOf(serverLock(dataDir)))
        assert.include(String(late.error), "locked")
      })
    )
  })
)
