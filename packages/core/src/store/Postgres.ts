import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, type Redacted, Schedule, Stream } from "effect"
import { Bell } from "./Bell.js"
import { Database } from "./Database.js"
import { migrate } from "./Migrations.js"

/** A PostgreSQL database with its schema up to date, and the bell that rings in every process that uses it. */
export const layer = (url: Redacted.Redacted) =>
  Layer.merge(
    Layer.effect(Database, Effect.gen(function*() {
      const sql = yield* PgClient.PgClient
      yield* migrate
      return Database.make(sql, "pg")
    })),
    Layer.scoped(Bell, Effect.gen(function*() {
      const sql = yield* PgClient.PgClient
      const bell = yield* Bell.makeLocal
      yield* sql.listen(channel).pipe(
        Stream.runForEach((topic) => bell.ring(topic)),
        Effect.retry(Schedule.spaced("1 second")),
        Effect.forkScoped
      )
      return Bell.of({ ...bell, ring: (topic) => Effect.orDie(sql.notify(channel, topic)) })
    }))
  ).pipe(Layer.provide(PgClient.layer({ url })), Layer.orDie)

const channel = "reins_bell"
