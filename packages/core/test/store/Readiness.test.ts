import { tmpdir } from "node:os"
import { assert, describe, it } from "@effect/vitest"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { Database } from "@reins/core/store/Database"
import { known } from "@reins/core/store/Migrations"
import { Readiness } from "@reins/core/store/Readiness"
import { databases } from "@reins/testing/store/Databases"
import { Effect, Layer } from "effect"

/** The state of the schema as a server finds it now. */
const migrations = Effect.map(
  Effect.flatMap(Readiness, ({ check }) => check),
  (report) => report.migrations
).pipe(Effect.provide(Layer.provide(Readiness.layer, CoreConfig.layer({ dataDir: tmpdir() }))))

const own = known.at(-1)

for (const { layer, name } of databases) {
  describe(`Readiness on ${name}`, () => {
    it.scopedLive(
      "a server is ready on a schema that a newer release has added to, and on none that it does not work with",
      () =>
        Effect.gen(function* () {
          const db = yield* Database
          const { run, sql } = db
          assert.strictEqual(yield* migrations, "ok")
          yield* run(sql`insert into effect_sql_migrations (migration_id, name) values (9999, 'from_the_future')`)
          assert.strictEqual(yield* migrations, "expanded")
          yield* run(sql`insert into agreements (name, value) values ('min_release', '9.8.7')
          on conflict (name) do update set value = excluded.value`)
          assert.strictEqual(yield* migrations, "other_release")
          yield* run(sql`update agreements set value = '0.0.1' where name = 'min_release'`)
          assert.strictEqual(yield* migrations, "expanded")
          yield* run(sql`delete from effect_sql_migrations where migration_id >= ${own?.id ?? 0}`)
          assert.strictEqual(yield* migrations, "other_release")
          // The database is used again by the next test.
          yield* run(
            sql`insert into effect_sql_migrations (migration_id, name) values (${own?.id ?? 0}, ${own?.name ?? ""})`
          )
        }).pipe(Effect.provide(layer))
    )

    if (name === "PostgreSQL")
      it.scopedLive("a server stays ready while a newer release takes a step", () =>
        Effect.gen(function* () {
          const { all, run, sql, transaction } = yield* Database
          const stepping = yield* Effect.makeLatch(false)
          const done = yield* Effect.makeLatch(false)
          yield* transaction(
            Effect.gen(function* () {
              yield* run(sql`lock table effect_sql_migrations in access exclusive mode`)
              yield* all(sql`select 1`)
              yield* stepping.open
              yield* done.await
            })
          ).pipe(Effect.forkScoped)
          yield* stepping.await
          assert.strictEqual(yield* migrations, "ok")
          yield* done.open
        }).pipe(Effect.provide(layer))
      )
  })
}
