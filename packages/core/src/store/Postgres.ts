import { SqlClient } from "@effect/sql"
import { PgClient } from "@effect/sql-pg"
import { limited } from "@reins/base/base/Limited"
import { Data, Effect, Layer, Redacted } from "effect"
import pg from "pg"
import { Bell } from "./Bell.js"
import { processClock, serverClock } from "./Clock.js"
import { Database } from "./Database.js"
import { failedStatementOf } from "./FailedStatement.js"
import { migrateBeside } from "./Migrations.js"
import { operatorReason } from "./OperatorReasons.js"
import { nodesAtWork } from "./PgAtWork.js"
import * as PgBell from "./PgBell.js"
import * as PgClock from "./PgClock.js"
import * as PgEngine from "./PgEngine.js"
import { namesSeveralHosts, severalHosts } from "./PgHosts.js"

export { nodesAtWork as atWork }

/** The settings of the connections to PostgreSQL. Each has a default. */
export interface PostgresOptions {
  /** The most connections that are open, besides the one of the bell: 20 unless given. They are opened when they are needed. */
  readonly connections?: number
  /**
   * Milliseconds without a statement after which PostgreSQL ends a transaction: 10,000 unless given. Its process may be stopped or out of
   * reach, and others wait for its locks. The time has to be shorter than a claim on work, so that a worker who takes over is not held up.
   */
  readonly idleInTransactionMs?: number
  /**
   * The clock of leases and of the services above: the one of the `server` unless given, which all machines share. The clock of the `process`
   * is for tests that move the time.
   */
  readonly clock?: "server" | "process"
  /** True for one of several machines, so that `hasServers` leaves it out. */
  readonly isNode?: boolean
  /** False for one that is only read. */
  readonly writes?: boolean
}

const defaults = { connections: 20, idleInTransactionMs: 10_000, clock: "server" }

/** True while a server works on the database that is none of several machines. Behind a pooler nobody can tell, and it is false. */
export const hasServers = (db: Database["Type"]): Effect.Effect<boolean> =>
  Effect.map(db.first(PgBell.workers(db.sql)), (row) => row !== undefined)

/**
 * A PostgreSQL database with its schema up to date, and the bell that rings in every process that uses it. Fails with
 * `MigrationRefused` where this release and the data do not go together, and with `DatabaseUnreachable`.
 *
 * The server may be behind a pooler in transaction mode. Statements are prepared where the pooler follows them, and sent whole where it
 * does not. Rings of other processes do not pass such a pooler, so changes by them are only found by looking now and then.
 */
export const layer = (url: Redacted.Redacted, options: PostgresOptions = {}) =>
  Layer.merge(
    database(url, options, migrateBeside({ others: nodesAtWork })),
    Layer.scoped(Bell, PgBell.make(url, options.isNode === true ? PgBell.ofNode : PgBell.ofServer))
  )

/** The database with its schema left as it is. It may be one that takes no writes unless they are asked for. Fails with `DatabaseUnreachable`. */
export const layerAsIs = (
  url: Redacted.Redacted,
  options: Pick<PostgresOptions, "connections" | "writes"> = {}
): Layer.Layer<Database, DatabaseUnreachable> => database(url, { writes: false, ...options }, Effect.void)

/** The PostgreSQL server did not let us in, or has a database that nothing can be kept in. The message does not show the URL. */
export class DatabaseUnreachable extends Data.TaggedError("DatabaseUnreachable")<{
  /** The SQLSTATE of the server's refusal, or the code of the system, as in `ECONNREFUSED`. */
  readonly code: string
  /** A sentence that says what to mend, where one is known. */
  readonly reason?: string | undefined
}> {
  override get message() {
    if (this.reason !== undefined) return this.reason
    return `The PostgreSQL database cannot be reached (${this.code}). Check that it runs, and REINS_DATABASE_URL.`
  }
}

const database = <E>(
  url: Redacted.Redacted,
  options: PostgresOptions,
  prepare: Effect.Effect<unknown, E, SqlClient.SqlClient>
) => {
  const { clock, connections, idleInTransactionMs } = { ...defaults, ...options }
  return Layer.unwrapScoped(
    Effect.gen(function* () {
      if (namesSeveralHosts(Redacted.value(url)))
        return yield* new DatabaseUnreachable({ code: "several_hosts", reason: severalHosts })
      const pool = yield* connect(url, connections)
      const serverTime = yield* Effect.timeoutFail(PgClock.make(pool, unreachable), {
        duration: "5 seconds",
        onTimeout: () => new DatabaseUnreachable({ code: "ETIMEDOUT" })
      })
      yield* requireFit(pool, options.writes ?? true)
      return Layer.effect(
        Database,
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          yield* prepare
          const time = clock === "server" ? serverClock(sql, serverTime) : processClock(sql)
          return Database.make(sql, "pg", PgEngine.make(pool, idleInTransactionMs), time)
        })
      ).pipe(Layer.provide(Layer.mapError(PgClient.layerFromPool({ acquire: Effect.succeed(pool) }), unreachable)))
    })
  )
}

/** The time that the opening of a connection may take, in milliseconds. The system would try on for two minutes, ever more seldom. */
const openMs = 5_000

/** The pool has a setting of that name too, by which it would also refuse whoever waits for a connection that is in use. */
class Connecting extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super({ ...config, connectionTimeoutMillis: openMs })
  }
}

const connect = (url: Redacted.Redacted, connections: number) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const pool = new pg.Pool({
        Client: Connecting,
        connectionString: Redacted.value(url),
        application_name: "reins",
        max: connections
      })
      // A connection that breaks emits an error besides failing its queries. Without a listener the process would end.
      pool.on("error", () => {})
      pool.on("connect", (client) => client.on("error", () => {}))
      return pool
    }),
    (pool) =>
      limited(
        Effect.promise(() => pool.end()),
        Effect.timeoutOption("1 second")
      )
  )

const unreachable = (error: unknown): DatabaseUnreachable =>
  new DatabaseUnreachable({
    code: failedStatementOf(error)?.code ?? driverCode(error) ?? "unknown",
    reason: operatorReason(error)
  })

/** The code of the system for what the driver says in words alone. */
const driverCode = (error: unknown): string | undefined => {
  if (!(error instanceof Error)) return undefined
  if (error.message === "timeout expired") return "ETIMEDOUT"
  if (error.message.startsWith("Connection terminated")) return "ECONNRESET"
  return driverCode(error.cause)
}

/** The properties of a database by which it can be used, whatever its schema. */
interface Fitness {
  readonly encoding: string
  readonly schema: string | null
  readonly is_read_only: boolean
  readonly may_create: boolean
  readonly is_empty: boolean
}

const fitness = `select current_setting('server_encoding') as encoding, current_schema() as schema,
  current_setting('transaction_read_only') = 'on' as is_read_only,
  coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) as may_create,
  to_regclass('effect_sql_migrations') is null as is_empty`

const unfit = (found: Fitness, writes: boolean): DatabaseUnreachable | undefined => {
  const { encoding, is_empty, is_read_only, may_create, schema } = found
  if (encoding !== "UTF8")
    return new DatabaseUnreachable({
      code: "22021",
      reason:
        `The PostgreSQL database has the encoding ${encoding}, which cannot hold every text. Create one with the encoding UTF8 ` +
        "(create database reins encoding 'UTF8' template template0), and name it in REINS_DATABASE_URL."
    })
  const code = schema === null ? "3F000" : writes && is_read_only ? "25006" : undefined
  if (code !== undefined) return unreachable({ code })
  if (!writes || may_create || !is_empty) return undefined
  return new DatabaseUnreachable({
    code: "42501",
    reason:
      `The user of REINS_DATABASE_URL may not create tables in the schema "${schema}". ` +
      `Make it the owner of the database, or run there as its owner: grant create on schema "${schema}" to the user.`
  })
}

/** Fails for a database that cannot be used, before anything is written to it. */
const requireFit = (pool: pg.Pool, writes: boolean): Effect.Effect<void, DatabaseUnreachable> =>
  Effect.flatMap(
    Effect.tryPromise({ try: () => pool.query<Fitness>(fitness), catch: unreachable }),
    ({ rows: [found] }) => (found === undefined ? undefined : unfit(found, writes)) ?? Effect.void
  )
