import { existsSync } from "node:fs"
import { fn } from "@reins/base/base/Traced"
import { Data, Effect, Layer, type Scope } from "effect"
import { Database } from "./Database.js"
import { FileLocked, lockFile } from "./FileLock.js"
import { closeSqlite, openSqlite, type SqliteDatabase } from "./SqliteDriver.js"
import * as SqliteEngine from "./SqliteEngine.js"

// Copies, checks and locks of an SQLite file. Serving from it is the work of the engine.

/** A database file that cannot be copied, opened or checked. */
export class DatabaseFileError extends Data.TaggedError("DatabaseFileError")<{
  readonly path: string
  readonly cause: unknown
}> {
  override get message() {
    const reason = this.cause instanceof Error ? this.cause.message : String(this.cause)
    return `The database ${this.path} cannot be used: ${reason}`
  }
}

/** The time that a statement waits for a writer of another process, in milliseconds. */
const patienceMs = 30_000

const withFile = <A>(path: string, use: (database: SqliteDatabase) => A, timeout = patienceMs) =>
  Effect.try({
    try: () => {
      const database = openSqlite(path, { fileMustExist: true, timeout })
      try {
        return use(database)
      } finally {
        closeSqlite(database)
      }
    },
    catch: (cause) => new DatabaseFileError({ path, cause })
  })

/**
 * Writes the content of a database at one instant into a new file. Others may write meanwhile and do not wait. Unlike a copy of the file, it
 * holds nothing that was deleted before.
 */
export const copy = fn("DatabaseFile.copy")((path: string, target: string) =>
  withFile(path, (database) => {
    database.prepare("vacuum into ?").run(target)
  })
)

/** The faults of a database file, in SQLite's words; none when it is whole. */
export const problems = fn("DatabaseFile.problems")((path: string) =>
  withFile(path, (database): ReadonlyArray<string> => {
    const damage = database.prepare<[], { readonly integrity_check: string }>("pragma integrity_check").all()
    const dangling = database.prepare<[], { readonly table: string }>("pragma foreign_key_check").all()
    return [
      ...damage.map((row) => row.integrity_check).filter((line) => line !== "ok"),
      ...new Set(dangling.map((row) => `a row of ${row.table} refers to nothing`))
    ]
  })
)

/**
 * Moves what is committed from the log into the file, and empties the log. False while somebody reads, or writes. It waits for nobody, because
 * whoever it would wait for may be in this very thread.
 */
export const emptyLog = fn("DatabaseFile.emptyLog")((path: string) =>
  withFile(
    path,
    (database) => {
      const [row] = database.prepare<[], { readonly busy: number }>("pragma wal_checkpoint(truncate)").all()
      return row?.busy === 0
    },
    0
  )
)

/** Opens an existing database file and leaves its schema as it is. */
export const layer = (path: string): Layer.Layer<Database, DatabaseFileError> =>
  Layer.scoped(
    Database,
    Effect.suspend(() =>
      existsSync(path)
        ? SqliteEngine.openEngine({ file: path, synchronous: "full", busyMs: patienceMs }, Effect.void)
        : Effect.fail(new DatabaseFileError({ path, cause: "it does not exist" }))
    )
  )

/** Another process holds the lock. */
export class LockHeld extends Data.TaggedError("LockHeld")<{ readonly path: string }> {}

/** Holds a lock file for this process while the scope lives, however the process ends. */
export const hold = (path: string): Effect.Effect<void, LockHeld | DatabaseFileError, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.try({
        try: () => lockFile(path),
        catch: (cause) =>
          cause instanceof FileLocked ? new LockHeld({ path }) : new DatabaseFileError({ path, cause })
      }),
      (unlock) => Effect.sync(unlock)
    )
  )

/** True when another process holds the lock file. It makes no file. */
export const isHeld = (path: string): Effect.Effect<boolean, DatabaseFileError> =>
  Effect.suspend(() => (existsSync(path) ? Effect.scoped(Effect.as(hold(path), false)) : Effect.succeed(false))).pipe(
    Effect.catchTag("LockHeld", () => Effect.succeed(true))
  )
