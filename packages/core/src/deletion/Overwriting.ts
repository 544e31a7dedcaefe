import { Effect, Schedule } from "effect"
import { JobError } from "../jobs/JobKind.js"
import { Database } from "../store/Database.js"
import * as DatabaseFile from "../store/DatabaseFile.js"

/** Takes what was deleted out of the log of SQLite, which has it until the log is written over. PostgreSQL looks after its own files. */
export const makeOverwriting = Effect.gen(function* () {
  const { dialect, first, sql } = yield* Database
  if (dialect === "pg") return Effect.void

  const attempt = Effect.gen(function* () {
    const file = yield* first(sql<{ file: string }>`select file from pragma_database_list where name = 'main'`)
    // The reader holds what it has just read until the event loop turns.
    yield* Effect.promise(() => new Promise<void>((resume) => setImmediate(resume)))
    const isEmpty = file === undefined || (yield* DatabaseFile.emptyLog(file.file))
    if (!isEmpty) return yield* databaseRead
  }).pipe(Effect.catchTag("DatabaseFileError", () => Effect.fail(databaseRead)))
  return Effect.retry(attempt, Schedule.intersect(Schedule.spaced("20 millis"), Schedule.recurs(200)))
})

const databaseRead = new JobError({
  code: "database_busy",
  message: "Somebody reads the database at every moment, so its log cannot be emptied yet.",
  retryable: true
})
