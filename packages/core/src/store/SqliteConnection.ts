import { Effect, type Scope } from "effect"
import { closeSqlite, openSqlite, type SqliteDatabase, type SqliteStatement } from "./SqliteDriver.js"

/** The settings of a connection. */
export interface SqliteOpening {
  readonly readonly: boolean
  /** `full` keeps commits through a loss of power; `off` is for data that nobody needs after one. */
  readonly synchronous: "full" | "off"
  /** The time that a statement waits for the lock of another process. It blocks this process meanwhile. */
  readonly busyMs: number
  /** False makes a file that is not there; true unless given. */
  readonly fileMustExist?: boolean
}

/**
 * Temporary files stay in memory, because every savepoint would make one. Commits write the same pages again and again, so a cache of 8 MB
 * holds them, and the log grows to 8 MB before its newest pages are copied into the file, which holds up one commit for milliseconds.
 */
const settings = [
  "foreign_keys = on",
  "trusted_schema = off",
  "temp_store = memory",
  "cache_size = -8000",
  // SQLite overwrites deleted rows, so that the file has nothing of a deleted session.
  "secure_delete = on",
  "wal_autocheckpoint = 2000",
  // macOS leaves what is synced in the cache of the disk otherwise. Other systems pass over it.
  "fullfsync = on",
  "checkpoint_fullfsync = on"
]

/** There are few texts, because values are bound. A list of values makes one text for each length. */
const maxPrepared = 500

/** A connection to an SQLite file with its prepared statements. Methods throw the errors of the driver. */
export class SqliteConnection {
  private readonly prepared = new Map<string, Prepared>()

  private constructor(private readonly database: SqliteDatabase) {}

  /** Opens a file. The connection is closed with the scope, which undoes an open transaction. */
  static readonly open = (
    file: string,
    { busyMs, fileMustExist = true, readonly, synchronous }: SqliteOpening
  ): Effect.Effect<SqliteConnection, never, Scope.Scope> =>
    Effect.map(
      Effect.acquireRelease(
        Effect.sync(() => openSqlite(file, { readonly, fileMustExist })),
        (database) => Effect.sync(() => closeSqlite(database))
      ),
      (database) => {
        for (const setting of [...settings, `synchronous = ${synchronous}`, `busy_timeout = ${busyMs}`])
          database.pragma(setting)
        return new SqliteConnection(database)
      }
    )

  get isInTransaction(): boolean {
    return this.database.inTransaction
  }

  /** True for a statement that gives rows and changes nothing. */
  isRead(text: string): boolean {
    return this.statement(text).isRead
  }

  all(text: string, parameters: ReadonlyArray<unknown> = []): ReadonlyArray<object> {
    return this.statement(text).all(parameters)
  }

  /** The same with a statement that is not kept. */
  allOnce(text: string, parameters: ReadonlyArray<unknown> = []): ReadonlyArray<object> {
    return new Prepared(this.database.prepare(text)).all(parameters)
  }

  private statement(text: string): Prepared {
    const known = this.prepared.get(text)
    if (known !== undefined) return known
    const statement = new Prepared(this.database.prepare(text))
    if (this.prepared.size >= maxPrepared) this.prepared.clear()
    this.prepared.set(text, statement)
    return statement
  }
}

type Values = ReadonlyArray<unknown>

/** Takes rows as lists of values, because the driver makes an object of a wide row at three times the cost. */
class Prepared {
  readonly isRead: boolean
  private readonly toRow: ((values: Values) => object) | undefined

  constructor(private readonly statement: SqliteStatement<Array<unknown>, Values>) {
    this.isRead = statement.reader && statement.readonly
    if (!statement.reader) return
    this.toRow = rowMaker(
      statement
        .raw(true)
        .columns()
        .map(({ name }) => name)
    )
  }

  all(parameters: ReadonlyArray<unknown>): ReadonlyArray<object> {
    if (this.toRow !== undefined) return this.statement.all(...parameters).map(this.toRow)
    this.statement.run(...parameters)
    return []
  }
}

/** Makes rows from one object literal, because V8 makes a slow table of an object that gets its names one by one. */
const rowMaker = (columns: ReadonlyArray<string>): ((values: Values) => object) => {
  const members = columns.map((name, index) => `${JSON.stringify(name)}: values[${index}]`)
  // Boundary: the text holds only the names of columns, quoted.
  return new Function("values", `return { ${members.join(", ")} }`) as (values: Values) => object
}
