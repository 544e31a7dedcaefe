import type { SqlError } from "@effect/sql"
import { Cause, Effect, Option, Schema } from "effect"

/** The names that a database gives for the refusal of a statement. They quote nothing of the statement. */
export type FailedStatement = typeof FailedStatement.Type
const FailedStatement = Schema.Struct({
  /** An SQLSTATE on PostgreSQL, a result code like SQLITE_BUSY on SQLite, or a code of the system when the database was not reached. */
  code: Schema.String,
  table: Schema.optional(Schema.String),
  column: Schema.optional(Schema.String),
  constraint: Schema.optional(Schema.String)
})

const decode = Schema.decodeUnknownOption(FailedStatement)

/** The error of a driver is the cause of the client's error, which may be the cause of a third one. */
const maxCauses = 5

/** The innermost code of a failure, with its other names; undefined when it has none. */
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

/** The fields of a defect in the log. The message of a database may quote values of a statement, so only its names are logged. */
export const defectFields = (defect: unknown): Readonly<Record<string, string>> => {
  const isOfDatabase = isSqlError(defect) || (defect instanceof Error && isSqlError(defect.cause))
  if (!isOfDatabase) return { cause: Cause.pretty(Cause.die(defect)) }
  const fields = Object.entries(failedStatementOf(defect) ?? { code: "unknown" })
  return Object.fromEntries(
    fields.flatMap(([name, value]) => (value === undefined ? [] : [[`database_${name}`, value]]))
  )
}

/** Logs a defect after which the service goes on. */
export const logDefect = (what: string, defect: unknown): Effect.Effect<void> =>
  Effect.annotateLogs(Effect.logError(what), defectFields(defect))
