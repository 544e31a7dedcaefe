import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SqlClient } from "@effect/sql"
import { assert, describe, it } from "@effect/vitest"
import { Database } from "@reins/core/store/Database"
import { applied, type DatabaseNewer, known, pending } from "@reins/core/store/Migrations"
import { webhooks } from "@reins/core/store/migrations/0009_webhooks"
import { webhookTests } from "@reins/core/store/migrations/0010_webhook_tests"
import * as Postgres from "@reins/core/store/Postgres"
import * as Sqlite from "@reins/core/store/Sqlite"
import { postgresDatabase } from "@reins/testing/store/Databases"
import { Effect, Exit, Layer, type Scope } from "effect"

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

/** The rows that a release without tests of webhooks has left: an endpoint with a delivery and its attempt. */
const oldDelivery = [
  "drop table webhook_attempts",
  "drop table webhook_deliveries",
  "drop table webhook_endpoints",
  ...webhooks,
  "insert into workspaces (id, name, created_at) values ('w', 'w', 't')",
  `insert into webhook_endpoints (id, workspace_id, url, state, position, secret, created_at, updated_at)
    values ('e', 'w', 'u', 'enabled', 7, 's', 't', 't')`,
  `insert into webhook_deliveries (id, endpoint_id, position, session_id, seq, event_id, type, state, attempt_count, retry_at,
    created_at, finished_at) values ('d', 'e', 7, 'sess', 3, 'evt', 'x', 'failed', 12, 'r', 't', 'f')`,
  "insert into webhook_attempts (delivery_id, ordinal, started_at, duration_ms, status) values ('d', 1, 't', 5, 500)"
]

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

    it.scoped("deliveries of webhooks that there are keep all that is known of them, and tests find their place", () =>
      Effect.gen(function* () {
        const { asIs, open } = yield* place
        yield* Effect.scoped(Layer.build(open))
        yield* Effect.provide(
          Effect.gen(function* () {
            const { all, dialect, run, sql, transaction } = yield* Database
            const steps = [...oldDelivery, ...webhookTests[dialect]]
            yield* transaction(Effect.forEach(steps, (statement) => run(sql.unsafe(statement)), { discard: true }))
            yield* run(sql`insert into webhook_deliveries (id, endpoint_id, event_id, type, state, attempt_count, created_at)
              values ('test', 'e', 'evt2', 'webhook.test', 'pending', 0, 't')`)
            assert.deepStrictEqual(yield* all(sql`select * from webhook_deliveries where id = 'd'`), [
              {
                ...{ id: "d", endpoint_id: "e", position: 7, session_id: "sess", seq: 3, event_id: "evt", type: "x" },
                ...{
                  state: "failed",
                  attempt_count: 12,
                  retry_at: "r",
                  created_at: "t",
                  finished_at: "f",
                  series_from: 0
                }
              }
            ])
            assert.deepStrictEqual(yield* all(sql`select delivery_id, ordinal, status from webhook_attempts`), [
              { delivery_id: "d", ordinal: 1, status: 500 }
            ])
            for (const wrong of [
              "insert into webhook_attempts (delivery_id, ordinal, started_at, duration_ms) values ('none', 1, 't', 5)",
              "delete from webhook_deliveries where id = 'd'",
              `insert into webhook_deliveries (id, endpoint_id, position, event_id, type, state, attempt_count, created_at)
                values ('twice', 'e', 7, 'evt', 'x', 'pending', 0, 't')`
            ])
              assert.isTrue(Exit.isFailure(yield* Effect.exit(run(sql.unsafe(wrong)))), wrong)
          }),
          asIs
        )
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
