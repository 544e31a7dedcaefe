import { randomUUID } from "node:crypto"
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, type Redacted, Schedule, Stream } from "effect"
import { Bell } from "./Bell.js"
import { Database } from "./Database.js"
import { migrate } from "./Migrations.js"

/** A PostgreSQL database with its schema up to date, and the bell that rings in every process that uses it. */
export const layer = (url: Redacted.Redacted) =>
  Layer.merge(
    Layer.effect(
      Database,
      Effect.gen(function* () {
        const sql = yield* PgClient.PgClient
        yield* migrate
        return Database.make(sql, "pg")
      })
    ),
    Layer.scoped(
      Bell,
      Effect.gen(function* () {
        const sql = yield* PgClient.PgClient
        const bell = yield* Bell.makeLocal
        const origin = randomUUID()
        yield* sql.listen(channel).pipe(
          Stream.runForEach((payload) => {
            const [from = "", topic = ""] = payload.split(" ")
            return from === origin ? Effect.void : bell.ring(topic)
          }),
          Effect.retry(Schedule.spaced("1 second")),
          Effect.forkScoped
        )
        // What was committed stands when the ring does not get through; the others look for it now and then.
        const tellOthers = (topic: string) =>
          sql`select pg_notify(${channel}, ${`${origin} ${topic}`})`.pipe(
            Effect.catchAllCause((cause) =>
              Effect.logWarning("a ring did not reach the other processes", cause, { topic })
            )
          )
        return Bell.of({
          ...bell,
          ring: (topic) => Effect.zipRight(bell.ring(topic), Effect.asVoid(tellOthers(topic)))
        })
      })
    )
  ).pipe(Layer.provide(PgClient.layer({ url })), Layer.orDie)

const channel = "reins_bell"
