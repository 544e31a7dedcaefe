import { randomUUID } from "node:crypto"
import { PgClient } from "@effect/sql-pg"
import { Data, Effect, Layer, Redacted, Schedule, Stream } from "effect"
import pg from "pg"
import { Bell } from "./Bell.js"
import { clientEngine, Database } from "./Database.js"
import { migrate } from "./Migrations.js"

export interface PostgresOptions {
  /** A transaction in which nothing is done for so long is ended, in milliseconds; 10 seconds unless it is given. */
  readonly idleInTransactionMs?: number
}

/**
 * A PostgreSQL database with its schema up to date, and the bell that rings in every process that uses it. Fails with `DatabaseNewer`
 * for the data of a newer release, and with `DatabaseUnreachable`.
 */
export const layer = (url: Redacted.Redacted, { idleInTransactionMs }: PostgresOptions = {}) =>
  Layer.merge(
    Layer.effect(
      Database,
      Effect.gen(function* () {
        const sql = yield* PgClient.PgClient
        yield* migrate
        return Database.make(sql, "pg", clientEngine(sql, "pg", undefined, idleInTransactionMs))
      })
    ),
    Layer.scoped(
      Bell,
      Effect.gen(function* () {
        const sql = yield* PgClient.PgClient
        const bell = yield* Bell.makeLocal
        const origin = randomUUID()
        yield* notifications(url).pipe(
          Stream.runForEach((payload) => {
            const [from = "", topic = ""] = payload.split(" ")
            return from === origin ? Effect.void : bell.ring(topic)
          }),
          Effect.tapError(({ code }) => Effect.logWarning("the bell lost its connection and opens another", { code })),
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
  ).pipe(Layer.provide(connected(url)))

/** The database as it is: its schema is not brought up to date. Fails with `DatabaseUnreachable`. */
export const layerAsIs = (url: Redacted.Redacted): Layer.Layer<Database, DatabaseUnreachable> =>
  Layer.effect(
    Database,
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      yield* Effect.mapError(sql`select 1`, unreachable)
      return Database.make(sql, "pg", clientEngine(sql, "pg"))
    })
  ).pipe(Layer.provide(connected(url)))

const connected = (url: Redacted.Redacted) => Layer.mapError(PgClient.layer({ url }), unreachable)

const unreachable = (error: object): DatabaseUnreachable =>
  new DatabaseUnreachable({ code: codeOf("cause" in error ? error.cause : error) })

/** The PostgreSQL server did not let us in. What is said of it does not show the URL. */
export class DatabaseUnreachable extends Data.TaggedError("DatabaseUnreachable")<{ readonly code: string }> {
  override get message() {
    return `The PostgreSQL database cannot be reached (${this.code}). Check that it runs, and REINS_DATABASE_URL.`
  }
}

const channel = "reins_bell"

class ListenFailed extends Data.TaggedError("ListenFailed")<{ readonly code: string }> {}

/**
 * What is notified on the channel, over a connection of its own. Fails when the connection ends, which the stream of the SQL client
 * does not.
 */
const notifications = (url: Redacted.Redacted): Stream.Stream<string, ListenFailed> =>
  Stream.asyncPush<string, ListenFailed>((emit) =>
    Effect.acquireRelease(
      Effect.tryPromise({
        try: async () => {
          const client = new pg.Client({ connectionString: Redacted.value(url), keepAlive: true })
          client.on("notification", ({ payload }) => emit.single(payload ?? ""))
          client.on("error", (error) => emit.fail(listenFailed(error)))
          client.on("end", () => emit.fail(new ListenFailed({ code: "ended" })))
          await client.connect()
          await client.query(`listen ${channel}`)
          return client
        },
        catch: listenFailed
      }),
      (client) => Effect.promise(() => client.end())
    )
  )

/** By its code alone: the message of a connection error can hold the URL. */
const listenFailed = (cause: unknown): ListenFailed => new ListenFailed({ code: codeOf(cause) })

const codeOf = (cause: unknown): string =>
  typeof cause === "object" && cause !== null && "code" in cause && typeof cause.code === "string"
    ? cause.code
    : "unknown"
