import type { SqlError } from "@effect/sql"
import { Cause, Data, Effect, Option, Schedule } from "effect"
import { failedStatementOf, isSqlError } from "./FailedStatement.js"

/** The time that work waits for a database server that is away, which is enough for its restart. */
const patience = "10 seconds"
const tryAgain = "200 millis"

/** The connection broke while COMMIT was under way, so nobody knows whether the transaction took place. */
export class CommitUnknown extends Data.TaggedError("CommitUnknown")<{ readonly cause: unknown }> {}

/**
 * The server ends its connections or takes none yet (57P01 to 57P03), or the system has lost the connection. Or the server has waited too long: between
 * statements (57P05), within a transaction (25P03) or for one (25P04).
 */
const codes = /^(?:08\w{3}|57P0[1235]|25P0[34]|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT)$/
/** The messages of the driver that have no code: for a statement that it has not sent, and for one that it may have sent. */
const unsent = /^(?:timeout exceeded when trying to connect|timeout expired|Client (?:has|was) .* not queryable)/
const cutOff = /^Connection terminated/

/** True when the connection was lost or could not be opened, and no statement was refused for its content. */
export const isConnectionLost = (error: unknown): boolean => {
  if (!isSqlError(error)) return false
  const code = failedStatementOf(error)?.code
  if (code !== undefined) return codes.test(code)
  return unsent.test(wordsOf(error)) || cutOff.test(wordsOf(error))
}

/** The server ended the connection on purpose, which it does between statements and never while it commits. */
const endedOnPurpose = /^(?:57P0[15]|25P0[34])$/

/**
 * True when a COMMIT that failed with its connection may have taken place. It cannot when it was not sent, or when the server says that it
 * ended the connection on purpose.
 */
export const mayHaveCommitted = (error: SqlError.SqlError): boolean =>
  isConnectionLost(error) && !endedOnPurpose.test(failedStatementOf(error)?.code ?? "") && !unsent.test(wordsOf(error))

const wordsOf = ({ cause }: SqlError.SqlError): string => (cause instanceof Error ? cause.message : "")

/** Runs an effect again that failed because the database server was away. The effect must leave nothing behind when it does not succeed. */
export const onceItIsBack = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.retry(Effect.sandbox(effect), {
    while: (cause) => isConnectionLost(Option.getOrUndefined(Cause.dieOption(cause))),
    schedule: Schedule.upTo(Schedule.spaced(tryAgain), patience)
  }).pipe(Effect.unsandbox)
