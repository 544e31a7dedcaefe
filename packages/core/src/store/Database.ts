import { SqlClient, type Statement } from "@effect/sql"
import { Context, Effect, type Fiber, identity, Scope } from "effect"
import { isSqlError } from "./FailedStatement.js"
import { CommitUnknown, isConnectionLost, mayHaveCommitted, onceItIsBack } from "./LostConnection.js"
import { isRead, PreparedQuery, prepare, prepareRow, type Query } from "./Query.js"

/**
 * Runs the statements of one kind of database; `Database` adds what is the same for all. A statement that fails is a defect: an
 * `SqlError` with the error of the driver as its cause.
 */
export interface Engine {
  /** Runs a statement, in the transaction of the calling fiber if it is in one, and gives back its rows. */
  readonly all: <Row extends object>(query: Query<Row>) => Effect.Effect<ReadonlyArray<Row>>
  /** Runs a statement whose rows nobody reads. */
  readonly run: (query: Query<object>) => Effect.Effect<void>
  /** The promise of `Database.transaction`. */
  readonly transaction: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>
}

/** Runs a statement that changes nothing, outside of any transaction; undefined when the statement is not such a one. */
export type ReadDirectly = (text: string, parameters: ReadonlyArray<unknown>) => ReadonlyArray<object> | undefined

/**
 * The one SQL database of an installation. Every statement is written once for SQLite and PostgreSQL. A statement that fails is
 * a defect: what a caller can expect (a duplicate, a missing row) is asked for with `on conflict` and `returning`.
 */
export class Database extends Context.Tag("@reins/core/store/Database")<
  Database,
  {
    readonly sql: SqlClient.SqlClient
    readonly dialect: "sqlite" | "pg"
    /** The rows of a query, in its order. */
    readonly all: <Row extends object>(query: Query<Row>) => Effect.Effect<ReadonlyArray<Row>>
    /** The first row, or undefined. */
    readonly first: <Row extends object>(query: Query<Row>) => Effect.Effect<Row | undefined>
    readonly run: (query: Query<object>) => Effect.Effect<void>
    readonly prepare: typeof prepare
    readonly prepareRow: typeof prepareRow
    /** ` for update` where writers of other connections could slip in between; nothing on SQLite, which has one writer. */
    readonly forUpdate: Statement.Fragment
    /** ` for update skip locked` on PostgreSQL, so that workers take different rows. */
    readonly skipLocked: Statement.Fragment
    /**
     * Runs an effect in one transaction, or in the one that is already open. Rolls back when it fails, dies or is interrupted. It is run
     * again when PostgreSQL went away and the commit did not take place, and dies with `CommitUnknown` when it may have.
     */
    readonly transaction: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>
  }
>() {
  /** `sql` makes the texts of statements, and the engine runs them. */
  static readonly make = (sql: SqlClient.SqlClient, dialect: "sqlite" | "pg", engine: Engine) =>
    Database.of({
      ...engine,
      sql,
      dialect,
      first: (query) => Effect.map(engine.all(query), (rows) => rows[0]),
      prepare,
      prepareRow,
      forUpdate: sql.literal(dialect === "pg" ? " for update" : ""),
      skipLocked: sql.literal(dialect === "pg" ? " for update skip locked" : "")
    })
}

/** The engine of a client of @effect/sql. `readDirectly` spares a read that is in no transaction the wait for the writer. */
export const clientEngine = (
  sql: SqlClient.SqlClient,
  dialect: "sqlite" | "pg",
  readDirectly?: ReadDirectly,
  idleInTransactionMs = defaultIdleInTransactionMs
): Engine => {
  const withTransaction = makeTransaction(sql, dialect, idleInTransactionMs)
  const patiently = dialect === "pg" ? unlessInside(onceItIsBack) : identity
  const statementOf = <Row extends object>(query: Query<Row>): Statement.Statement<Row> =>
    query instanceof PreparedQuery ? sql.unsafe<Row>(query.prepared.text, query.parameters) : query
  const whole = <Row extends object>(query: Statement.Statement<Row>) =>
    // PostgreSQL is told to cancel an interrupted statement, and may do so to the next one of that connection, whose ever it is.
    dialect === "pg" ? Effect.uninterruptible(Effect.orDie(query)) : Effect.orDie(query)
  const read = <Row extends object>(query: Statement.Statement<Row>) =>
    isRead(query.compile()[0]) ? patiently(whole(query)) : whole(query)
  const all = readDirectly === undefined ? read : directly(readDirectly)
  return {
    all: (query) => all(statementOf(query)),
    run: (query) => Effect.asVoid(whole(statementOf(query))),
    transaction: (effect) => patiently(Effect.catchIf(withTransaction(effect), isSqlError, Effect.die))
  }
}

/** A transaction that has lost its connection is run again whole, not from one of its statements on. */
const unlessInside =
  (wrap: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>) =>
  <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.withFiberRuntime((fiber) => (isInTransaction(fiber) ? effect : wrap(effect)))

const isInTransaction = (fiber: Fiber.RuntimeFiber<unknown, unknown>): boolean =>
  fiber.currentContext.unsafeMap.has(SqlClient.TransactionConnection.key)

const directly =
  (read: ReadDirectly) =>
  <Row extends object>(query: Statement.Statement<Row>): Effect.Effect<ReadonlyArray<Row>> =>
    Effect.withFiberRuntime((fiber) => {
      if (isInTransaction(fiber)) return Effect.orDie(query)
      const [text, parameters] = query.compile()
      const rows = read(text, parameters)
      // Boundary: the rows have the shape that the caller says the statement has, whoever runs it.
      return rows === undefined ? Effect.orDie(query) : Effect.succeed(rows as ReadonlyArray<Row>)
    })

/**
 * A process that is stopped or out of reach within a transaction holds what others wait for; PostgreSQL ends it long before a claim on
 * work has run out, so that those who take over are not held up.
 */
const beginOf = (dialect: "sqlite" | "pg", idleInTransactionMs: number): string =>
  dialect === "sqlite"
    ? "begin immediate"
    : `begin; set local idle_in_transaction_session_timeout = ${Math.round(idleInTransactionMs)}`

/** How long a transaction may rest on PostgreSQL unless it is set. */
const defaultIdleInTransactionMs = 10_000

/**
 * Unlike the client's own: it begins with the write lock on SQLite (a deferred BEGIN fails at its first write when another process
 * wrote in between), and leaves the transaction when COMMIT fails (else the one connection stays inside it, and later writes report
 * success and are lost).
 */
const makeTransaction = (sql: SqlClient.SqlClient, dialect: "sqlite" | "pg", idleInTransactionMs: number) =>
  SqlClient.makeWithTransaction({
    transactionTag: SqlClient.TransactionConnection,
    spanAttributes: [],
    acquireConnection: Effect.flatMap(Scope.make(), (scope) =>
      Effect.map(Scope.extend(sql.reserve, scope), (connection) => [scope, connection] as const)
    ),
    begin: (connection) => connection.executeUnprepared(beginOf(dialect, idleInTransactionMs), [], undefined),
    savepoint: (connection, id) => connection.executeUnprepared(`savepoint reins_${id}`, [], undefined),
    commit: (connection) =>
      connection.executeUnprepared("commit", [], undefined).pipe(
        Effect.tapError(() => Effect.ignore(connection.executeUnprepared("rollback", [], undefined))),
        Effect.catchIf(mayHaveCommitted, (cause) => Effect.die(new CommitUnknown({ cause })))
      ),
    // A transaction that has lost its connection is rolled back, and fails with what it failed with.
    rollback: (connection) =>
      Effect.catchIf(connection.executeUnprepared("rollback", [], undefined), isConnectionLost, () => Effect.void),
    rollbackSavepoint: (connection, id) =>
      connection.executeUnprepared(`rollback to savepoint reins_${id}`, [], undefined)
  })
