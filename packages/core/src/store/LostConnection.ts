import type { SqlError } from "@effect/sql"
import { Cause, Data, Effect, Option, Schedule } from "effect"
import { failedStatementOf, isSqlError } from "./FailedStatement.js"

/** How long work waits for a database server that is away: long enough for its restart. */
const patience = "10 seconds"
const tryAgain = "200 millis"

/** The connection broke while COMMIT was under way: nobody knows whether the transaction took place. */
export class CommitUnknown extends Data.TaggedError("CommitUnknown")<{ readonly cause: unknown }> {}

/**
 * The server ends its connections or takes none yet (57P01 to 57P03), it has waited too long within a transaction (25P03), or the system
 * has lost the connection.
 */
const codes = /^(?:08\w{3}|57P0[123]|25P03|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT)$/
/** What the driver says without a code: of a statement that it has not sent, and of one that it may have. */
const unsent = /^(?:timeout exceeded when trying to connect|Client (?:has|was) .* not queryable)/
const cutOff = /^Connection terminated/

/** Whether the connection was lost or could not be had; no statement was refused for what it held. */
export const isConnectionLost = (error: unknown): boolean => {
  if (!isSqlError(error)) return false
  const code = failedStatementOf(error)?.code
  if (code !== undefined) return codes.test(code)
  return unsent.test(wordsOf(error)) || cutOff.test(wordsOf(error))
}

/** The server ended the connection on purpose, which it does between statements and never while it commits. */
const endedOnPurpose = /^(?:57P01|25P03)$/

/**
 * Of a COMMIT that failed because the connection was lost: whether it may have taken place. Not when it was not sent, and not when the
 * server says that it ended the connection on purpose.
 */
export const mayHaveCommitted = (error: SqlError.SqlError): boolean =>
  isConnectionLost(error) && !endedOnPurpose.test(failedStatementOf(error)?.code ?? "") && !unsent.test(wordsOf(error))

const wordsOf = ({ cause }: SqlError.SqlError): string => (cause instanceof Error ? cause.message : "")

/** Runs again what came to nothing because the database server was away. Only for what leaves nothing behind when it does not succeed. */
export const onceItIsBack = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.retry(Effect.sandbox(effect), {
    while: (cause) => isConnectionLost(Option.getOrUndefined(Cause.dieOption(cause))),
    schedule: Schedule.upTo(Schedule.spaced(tryAgain), patience)
  }).pipe(Effect.unsandbox)
