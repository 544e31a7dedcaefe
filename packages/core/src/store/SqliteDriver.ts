import { createRequire } from "node:module"
import { hostRefusal } from "@reins/base/base/HostRefusal"
import type Driver from "better-sqlite3"

/** An open SQLite file. */
export type SqliteDatabase = Driver.Database

/** A statement of an open SQLite file. */
export type SqliteStatement<Parameters extends ReadonlyArray<unknown>, Row> = Driver.Statement<[...Parameters], Row>

/**
 * The package that drives SQLite on a Node. Node from 24.19 on aborts the objects of better-sqlite3 12 when they are collected, and 13 ends Node 20 with
 * a segmentation fault. Each is an optional dependency, so that a package manager installs the one that fits.
 */
export const driverFor = (nodeVersion: string): string =>
  Number(nodeVersion.split(".")[0]) >= 22 ? "better-sqlite3" : "@reins/sqlite-node20"

/** The driver cannot be loaded. */
export class SqliteDriverMissing extends Error {
  constructor(cause: unknown) {
    const { node } = process.versions
    const name = driverFor(node)
    super(
      `Reins cannot load ${name}, its SQLite driver for Node ${node} on ${process.platform}-${process.arch}. Install the packages again ` +
        `with this Node, and let optional dependencies in. ${reasonOf(cause)}`,
      { cause }
    )
  }
}

const reasonOf = (cause: unknown): string =>
  (cause instanceof Error ? cause.message : String(cause)).split("\n")[0] ?? ""

const load = (): typeof Driver => {
  const refusal = hostRefusal(process.platform, process.versions.node)
  if (refusal !== null) throw new Error(refusal)
  try {
    return createRequire(import.meta.url)(driverFor(process.versions.node))
  } catch (cause) {
    throw new SqliteDriverMissing(cause)
  }
}

const Sqlite = load()

/** The files that are open in this thread, in the order of their opening. */
const open = new Set<SqliteDatabase>()

// The exit of a process or of a worker closes what its scopes have left open, the newest first. Closing ends the statements of a file too.
process.once("exit", () => {
  for (const database of [...open].reverse()) closeSqlite(database)
})

export interface SqliteFileOptions {
  readonly readonly?: boolean
  /** True refuses to make the file. */
  readonly fileMustExist?: boolean
  /** The milliseconds that a statement waits for the lock of another process; 5000 unless given. */
  readonly timeout?: number
}

/** Opens a file. Whoever opens it closes it with `closeSqlite`. Throws the errors of the driver. */
export const openSqlite = (file: string, options: SqliteFileOptions = {}): SqliteDatabase => {
  const database = new Sqlite(file, options)
  open.add(database)
  return database
}

/** Closes a file and all of its statements, and undoes an open transaction. A file that is closed stays so. */
export const closeSqlite = (database: SqliteDatabase): void => {
  open.delete(database)
  database.close()
}

/** True for an error of SQLite whose code begins so, as `SQLITE_BUSY`. */
export const isSqliteError = (error: unknown, code: string): boolean =>
  error instanceof Sqlite.SqliteError && error.code.startsWith(code)
