import type { SqlError } from "@effect/sql"
import { Cause, Effect, Option, Schema } from "effect"

/** What a database says of a statement that it refused, and nothing of what the statement held. */
export type FailedStatement = typeof FailedStatement.Type
const FailedStatement = Schema.Struct({
  /** An SQLSTATE on PostgreSQL, a result code like SQLITE_BUSY on SQLite; the code of the system where the database was not reached. */
  code: Schema.String,
  table: Schema.optional(Schema.String),
  column: Schema.optional(Schema.String),
  constraint: Schema.optional(Schema.String)
})

const decode = Schema.decodeUnknownOption(FailedStatement)

/** A driver's error is the cause of the client's, which may be that of another. */
const maxCauses = 5

/** The innermost code that a failure has, with what belongs to it; undefined without one. */
export const failedStatementOf = (failure: unknown): FailedStatement | undefined => {
  let found: FailedStatement | undefined
  let error = failure
  for (let depth = 0; depth < maxCauses && typeof error === "object" && error !== null; depth++) {
    found = Option.getOrElse(decode(error), () => found)
    error = "cause" in error ? error.cause : undefined
  }
  return found
}

/** A failure of the SQL client. */
export const isSqlError = (error: unknown): error is SqlError.SqlError =>
  typeof error === "object" && error !== null && "_tag" in error && error._tag === "SqlError"

/** What the log tells of a defect. The words of a database may quote what a statement held, so it is told by its names alone. */
export const defectFields = (defect: unknown): Readonly<Record<string, string>> => {
  if (!isSqlError(defect)) return { cause: Cause.pretty(Cause.die(defect)) }
  const fields = Object.entries(failedStatementOf(defect) ?? { code: "unknown" })
  return Object.fromEntries(
    fields.flatMap(([name, value]) => (value === undefined ? [] : [[`database_${name}`, value]]))
  )
}

/** Logs a defect that the service goes on after. */
export const logDefect = (what: string, defect: unknown): Effect.Effect<void> =>
  Effect.annotateLogs(Effect.logError(what), defectFields(defect))
