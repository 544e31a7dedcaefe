import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SqlClient } from "@effect/sql"
import { assert, describe, it } from "@effect/vitest"
import { Database } from "@reins/core/store/Database"
import { applied, type DatabaseNewer, known, pending } from "@reins/core/store/Migrations"
import * as Postgres from "@reins/core/store/Postgres"
import * as Sqlite from "@reins/core/store/Sqlite"
import { postgresDatabase } from "@reins/testing/store/Databases"
import { Effect, Layer, type Scope } from "effect"

const temporary = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "reins-migrations-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

/** A database that two releases open one after the other, and the same as it is. */
const places: ReadonlyArray<{
  readonly name: string
  readonly place: Effect.Effect<
    {
      readonly open: Layer.Layer<never, DatabaseNewer | Postgres.DatabaseUnreachable | Sqlite.DataDirectoryUnusable>
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
      asIs: Layer.orDie(Sqlite.layerAsIs(dataDir))
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

const stepsBehind = Effect.flatMap(Database, ({ sql }) => Effect.provideService(applied, SqlClient.SqlClient, sql))

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

    for (const [what, statement] of [
      ["of a newer release", "insert into effect_sql_migrations (migration_id, name) values (9999, 'from_the_future')"],
      ["with another step of a number that is known", "update effect_sql_migrations set name = 'other'"]
    ] as const) {
      it.scoped(`a database ${what} is refused in words and left as it is`, () =>
        Effect.gen(function* () {
          const { asIs, open } = yield* place
          yield* Effect.scoped(Layer.build(open))
          const before = yield* Effect.provide(
            Effect.gen(function* () {
              const db = yield* Database
              yield* db.run(db.sql.unsafe(statement))
              return yield* stepsBehind
            }),
            asIs
          )
          const refused = yield* Effect.flip(Effect.scoped(Layer.build(open)))
          assert.strictEqual(refused._tag, "DatabaseNewer")
          assert.match(refused.message, /newer release.*(9999_from_the_future|1_other).*Run the newer release/s)
          assert.deepStrictEqual(yield* Effect.provide(stepsBehind, asIs), before)
        })
      )
    }
  })
}
