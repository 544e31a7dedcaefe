import { SqlClient } from "@effect/sql"
import { Effect, type Scope } from "effect"
import { Database, type Engine } from "./Database.js"
import { type CommitTurn, failedBy, GroupCommit } from "./GroupCommit.js"
import { PreparedQuery, type Query } from "./Query.js"
import { SnapshotReader } from "./SnapshotReader.js"
import { openSqlClient } from "./SqliteClient.js"
import { SqliteConnection, type SqliteOpening } from "./SqliteConnection.js"

type FileOpening = Omit<SqliteOpening, "readonly"> & { readonly file: string }

/**
 * The database in a file, which is made when it does not exist. `prepare` runs before any other statement. A transaction that has waited
 * `busyMs` for a writer of another process dies with `SQLITE_BUSY`.
 */
export const openEngine = <E>(
  opening: FileOpening,
  prepare: Effect.Effect<unknown, E, SqlClient.SqlClient>
): Effect.Effect<Database["Type"], E, Scope.Scope> =>
  Effect.gen(function* () {
    const sql = yield* openSqlClient(opening)
    yield* Effect.provideService(prepare, SqlClient.SqlClient, sql)
    return Database.make(sql, "sqlite", yield* SqliteEngine.open(opening))
  })

/**
 * Works on an SQLite file with two connections. One connection reads what is committed and never waits. The other connection writes:
 * transactions take turns in the order in which they come, and share commits. A write outside of a transaction is a transaction of its own.
 */
export class SqliteEngine implements Engine {
  private constructor(
    private readonly reader: SqliteConnection,
    private readonly snapshot: SnapshotReader,
    private readonly commits: GroupCommit
  ) {}

  static readonly open = ({
    busyMs,
    file,
    synchronous
  }: FileOpening): Effect.Effect<SqliteEngine, never, Scope.Scope> =>
    Effect.gen(function* () {
      const writer = yield* SqliteConnection.open(file, { readonly: false, synchronous, busyMs: 0 })
      const reader = yield* SqliteConnection.open(file, { readonly: true, synchronous, busyMs })
      const snapshot = new SnapshotReader(reader)
      yield* Effect.addFinalizer(() => Effect.sync(snapshot.end))
      // A commit ends the snapshot, so that a writer reads its own writes.
      return new SqliteEngine(reader, snapshot, new GroupCommit(writer, busyMs, snapshot.end))
    })

  readonly all = <Row extends object>(query: Query<Row>): Effect.Effect<ReadonlyArray<Row>> =>
    // Boundary: the rows have the shape that the caller says the statement has.
    this.execute(query, (rows) => Effect.succeed(rows as ReadonlyArray<Row>))

  readonly run = (query: Query<object>): Effect.Effect<void> => this.execute(query, () => Effect.void)

  readonly runLast = (query: Query<object>): Effect.Effect<void> =>
    Effect.withFiberRuntime((fiber) => {
      const turn = this.commits.turnOf(fiber)
      if (turn === undefined) return this.run(query)
      const [text, parameters] = textOf(query)
      turn.last.push({ text, parameters })
      return Effect.void
    })

  readonly transaction = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.withFiberRuntime((fiber) => {
      const turn = this.commits.turnOf(fiber)
      return turn === undefined ? this.commits.run(effect) : this.nested(turn, effect)
    })

  /** A file answers or fails. */
  readonly breakSilent = (): Effect.Effect<void> => Effect.void

  private execute<A>(
    query: Query<object>,
    toResult: (rows: ReadonlyArray<object>) => Effect.Effect<A>
  ): Effect.Effect<A> {
    return Effect.withFiberRuntime((fiber) => {
      const isInside = this.commits.turnOf(fiber) !== undefined
      try {
        const rows = isInside ? this.write(query) : this.read(query)
        return rows === undefined ? this.commits.run(this.execute(query, toResult)) : toResult(rows)
      } catch (failure) {
        return Effect.die(failedBy(failure))
      }
    })
  }

  private nested<A, E, R>(turn: CommitTurn, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.acquireUseRelease(
      this.inTurn(() => {
        const name = `nested_${++turn.depth}`
        this.commits.all(`savepoint ${name}`)
        return { name, last: turn.last.length }
      }),
      () => effect,
      ({ last, name }, exit) =>
        this.inTurn(() => {
          turn.depth--
          if (exit._tag === "Failure") {
            turn.last.length = last
            this.commits.all(`rollback to ${name}`)
          }
          this.commits.all(`release ${name}`)
        })
    )
  }

  private inTurn<A>(act: () => A): Effect.Effect<A> {
    return Effect.suspend(() => {
      try {
        return Effect.succeed(act())
      } catch (failure) {
        return Effect.die(failedBy(failure))
      }
    })
  }

  private write(query: Query<object>): ReadonlyArray<object> {
    const [text, parameters] = textOf(query)
    return this.commits.all(text, parameters)
  }

  /** The answer from the snapshot, or undefined when the statement writes. */
  private read(query: Query<object>): ReadonlyArray<object> | undefined {
    if (query instanceof PreparedQuery)
      return this.reader.isRead(query.prepared.text) ? this.snapshot.all(query) : undefined
    const [text, parameters] = query.compile()
    return this.reader.isRead(text) ? this.snapshot.all(text, parameters) : undefined
  }
}

const textOf = (query: Query<object>): readonly [string, ReadonlyArray<unknown>] =>
  query instanceof PreparedQuery ? [query.prepared.text, query.parameters] : query.compile()
