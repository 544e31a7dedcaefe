import type { SqlClient, Statement } from "@effect/sql"
import { Context, Effect } from "effect"
import { type DbClock, processClock } from "./Clock.js"
import { prepare, prepareNamed, prepareRow, type Query } from "./Query.js"

/**
 * Runs the statements of one kind of database. `Database` adds the parts that all kinds share. A statement that fails is a defect: an
 * `SqlError` with the error of the driver as its cause.
 */
export interface Engine {
  /**
   * Runs a statement, in the transaction of the calling fiber if it is in one, and gives back its rows. Outside of one a read gives what is
   * committed, and never waits for a transaction that is open.
   */
  readonly all: <Row extends object>(query: Query<Row>) => Effect.Effect<ReadonlyArray<Row>>
  /** Runs a statement whose rows nobody reads. */
  readonly run: (query: Query<object>) => Effect.Effect<void>
  /** The promise of `Database.runLast`. An engine without it runs the statement at once. */
  readonly runLast?: (query: Query<object>) => Effect.Effect<void>
  /** The promise of `Database.transaction`. */
  readonly transaction: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** The promise of `Database.breakSilent`. */
  readonly breakSilent: (silentMs: number) => Effect.Effect<void>
}

/**
 * The one SQL database of an installation. Every statement is written once for SQLite and PostgreSQL. A statement that fails is
 * a defect. A statement asks for cases that a caller can expect (a duplicate, a missing row) with `on conflict` and `returning`.
 */
export class Database extends Context.Tag("@reins/core/store/Database")<
  Database,
  {
    /** Makes the texts of statements. Run them with the methods below, and not by itself. */
    readonly sql: SqlClient.SqlClient
    /** The language of the statements, for the few that are not the same in both. */
    readonly dialect: "sqlite" | "pg"
    /** The clock that every process on the database agrees on. Statements that compare or write a lease take their time from it. */
    readonly clock: DbClock
    /** The rows of a query, in its order. */
    readonly all: <Row extends object>(query: Query<Row>) => Effect.Effect<ReadonlyArray<Row>>
    /** The first row, or undefined. */
    readonly first: <Row extends object>(query: Query<Row>) => Effect.Effect<Row | undefined>
    /** Runs a statement whose rows nobody reads. In a transaction its failure may come with a later statement, or with the commit. */
    readonly run: (query: Query<object>) => Effect.Effect<void>
    /**
     * The same for a statement that may run at the end of the transaction, after those that were given before it. Each savepoint has FTS5 write what it
     * has gathered, so that its statements are cheap only after the last one.
     */
    readonly runLast: (query: Query<object>) => Effect.Effect<void>
    /** Makes a statement whose text is made once; see `prepare` of `store/Query`. */
    readonly prepare: typeof prepare
    /** The same for a statement that takes named values. */
    readonly prepareNamed: typeof prepareNamed
    /** The same for a statement that takes one row, such as an insert. */
    readonly prepareRow: typeof prepareRow
    /** ` for update` where writers of other connections could slip in between; nothing on SQLite, which has one writer. */
    readonly forUpdate: Statement.Fragment
    /** ` for update skip locked` on PostgreSQL, so that workers take different rows. */
    readonly skipLocked: Statement.Fragment
    /**
     * Runs an effect in one transaction, or in the one that is already open. Rolls back when it fails, dies or is interrupted. It is run
     * again when it has lost a race for its rows, or PostgreSQL went away and the commit did not take place. It dies with `CommitUnknown` when
     * the commit may have taken place.
     */
    readonly transaction: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
    /**
     * Breaks the connections on which the server has not answered for so many milliseconds. Behind a network that drops everything they wait for the
     * system, which sends again ever more seldom and gives up after a quarter of an hour. What they ran is run again where that is safe.
     */
    readonly breakSilent: (silentMs: number) => Effect.Effect<void>
  }
>() {
  /**
   * Puts a database together: `sql` makes the texts of statements, and the engine runs them. One that several machines use needs a clock of
   * its own; unless given, it is the clock of the process.
   */
  static readonly make = (
    sql: SqlClient.SqlClient,
    dialect: "sqlite" | "pg",
    engine: Engine,
    clock: DbClock = processClock(sql)
  ) =>
    Database.of({
      ...engine,
      runLast: engine.runLast ?? engine.run,
      sql,
      dialect,
      clock,
      first: (query) => Effect.map(engine.all(query), (rows) => rows[0]),
      prepare,
      prepareNamed,
      prepareRow,
      forUpdate: sql.literal(dialect === "pg" ? " for update" : ""),
      skipLocked: sql.literal(dialect === "pg" ? " for update skip locked" : "")
    })
}
