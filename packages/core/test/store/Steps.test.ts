import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SqlClient } from "@effect/sql"
import { assert, describe, it } from "@effect/vitest"
import { isOlder, release } from "@reins/base/base/Release"
import { Database } from "@reins/core/store/Database"
import { databaseFile } from "@reins/core/store/DataDirectory"
import * as Postgres from "@reins/core/store/Postgres"
import * as Sqlite from "@reins/core/store/Sqlite"
import { type Change, statements } from "@reins/core/store/Step"
import { steps } from "@reins/core/store/Steps"
import { postgresDatabase } from "@reins/testing/store/Databases"
import { shapeOf, taken } from "@reins/testing/store/SchemaShape"
import { Effect, Layer } from "effect"

const all = Object.entries(steps)

/** Statements that a release which knows nothing of them could fail by, with the complaint. */
const wrong: ReadonlyArray<readonly [statements: ReadonlyArray<string>, complaint: RegExp, on?: "pg" | "sqlite"]> = [
  [["drop table agreements"], /^agreements is gone$/],
  [["alter table agreements rename to pacts"], /^agreements is gone$/],
  [["alter table agreements rename column value to meaning"], /^agreements.value is gone$/],
  [["alter table agreements drop column value"], /^agreements.value is gone$/],
  [["create unique index once on agreements (value)"], /^agreements has a new condition: .*once/],
  [
    ["create table notes (id text primary key, agreement text references agreements(name))"],
    /^notes keeps rows of agreements from being deleted$/
  ],
  [["alter table nodes add column extra text not null"], /^nodes.extra is new and required$/, "pg"],
  [["alter table agreements alter column value type varchar(10)"], /^agreements.value has another type$/, "pg"],
  [["alter table nodes alter column release drop default"], /^nodes.release has no default any more$/, "pg"],
  [["alter table placements alter column node_id set not null"], /^placements.node_id has become required$/, "pg"],
  [["alter table agreements add check (value <> '')"], /^agreements has a new condition: CHECK/, "pg"],
  [
    [
      "create table new_agreements (name text primary key, value text not null check (value <> ''))",
      "insert into new_agreements select name, value from agreements",
      "drop table agreements",
      "alter table new_agreements rename to agreements"
    ],
    /^agreements has a new condition: check \(value <> ''\)$/,
    "sqlite"
  ],
  [
    ["create trigger refusing before insert on agreements begin select raise(abort, 'no'); end"],
    /^agreements has a new condition: create trigger/i,
    "sqlite"
  ]
]

const right: ReadonlyArray<ReadonlyArray<string>> = [
  ["create table notes (id text primary key, agreement text references agreements(name) on delete cascade)"],
  ["alter table agreements add column extra text"],
  ["alter table agreements add column extra text not null default ''"],
  ["alter table agreements add column extra text", "create unique index once on agreements (extra)"],
  ["create index found on agreements (value)"]
]

const temporary = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "reins-steps-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

/** A database with the whole schema, and an empty one. */
const places: ReadonlyArray<{
  readonly dialect: "sqlite" | "pg"
  readonly whole: Layer.Layer<Database>
  readonly empty: Layer.Layer<Database>
}> = [
  {
    dialect: "sqlite",
    whole: Sqlite.layerMemory,
    empty: Layer.unwrapScoped(
      Effect.map(temporary, (directory) => {
        writeFileSync(databaseFile(directory), "")
        return Layer.orDie(Sqlite.layerFileAsIs(directory))
      })
    )
  },
  {
    dialect: "pg",
    whole: Layer.orDie(Layer.unwrapScoped(Effect.map(postgresDatabase, (url) => Postgres.layer(url)))),
    empty: Layer.orDie(Layer.unwrapScoped(Effect.map(postgresDatabase, Postgres.layerAsIs)))
  }
]

/** The complaints about a change of the schema, which is not kept. */
const complaints = (change: Change) =>
  Effect.gen(function* () {
    const { sql } = yield* Database
    const before = yield* shapeOf(sql)
    let found: ReadonlyArray<string> = []
    const seen = Effect.gen(function* () {
      yield* Effect.orDie(Effect.provideService(change, SqlClient.SqlClient, sql))
      found = taken(before, yield* shapeOf(sql))
      return yield* Effect.fail("enough" as const)
    })
    yield* Effect.catchIf(
      sql.withTransaction(seen),
      (failure) => failure === "enough",
      () => Effect.void
    )
    return found
  })

for (const { dialect, empty, whole } of places) {
  describe(`Steps on ${dialect}`, () => {
    it.scoped("a step that only adds is told from one by which an older release could fail", () =>
      Effect.gen(function* () {
        for (const [change, complaint, on = dialect] of wrong) {
          if (on !== dialect) continue
          const found = yield* complaints(statements(change))
          assert.isTrue(
            found.some((words) => complaint.test(words)),
            `${change.join("; ")}: ${found.join("; ")}`
          )
        }
        for (const change of right) assert.deepStrictEqual(yield* complaints(statements(change)), [], change.join("; "))
      }).pipe(Effect.provide(whole))
    )

    it.scoped("every step that says so only adds", () =>
      Effect.gen(function* () {
        const { sql } = yield* Database
        for (const [name, step] of all) {
          const before = yield* shapeOf(sql)
          yield* Effect.provideService(step.change, SqlClient.SqlClient, sql)
          if (step.kind === "expand") assert.deepStrictEqual(taken(before, yield* shapeOf(sql)), [], name)
        }
      }).pipe(Effect.provide(empty))
    )
  })
}

it("what is taken away is what a release that is out already does not use, and the first schema comes first", () => {
  for (const [name, step] of all)
    if (step.kind === "contract")
      assert.isFalse(isOlder(release, step.needs), `${name} needs a release that is not out`)
  const kinds = all.map(([, { kind }]) => kind)
  assert.isBelow(
    kinds.lastIndexOf("original"),
    [...kinds, "expand"].findIndex((kind) => kind !== "original")
  )
})
