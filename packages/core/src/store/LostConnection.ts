import { Cause, Data, Effect, Option, Schedule } from "effect"
import { failedStatementOf, isSqlError } from "./FailedStatement.js"

/** How long work waits for a database server that is away: long enough for its restart. */
const patience = "10 seconds"
const tryAgain = "200 millis"

/** The connection broke while COMMIT was under way: nobody knows whether the transaction took place. */
export class CommitUnknown extends Data.TaggedError("CommitUnknown")<{ readonly cause: unknown }> {}

/** The server ends its connections or takes none yet (57P01 to 57P03), or the system has lost it. */
const codes = /^(?:08\w{3}|57P0[123]|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT)$/
/** What the driver says without a code. */
const words = /^(?:Connection terminated|timeout exceeded when trying to connect|Client (?:has|was) .* not queryable)/

/** Whether the connection was lost or could not be had; no statement was refused for what it held. */
export const isConnectionLost = (error: unknown): boolean => {
  if (!isSqlError(error)) return false
  const code = failedStatementOf(error)?.code
  return code === undefined ? error.cause instanceof Error && words.test(error.cause.message) : codes.test(code)
}

/** Runs again what came to nothing because the database server was away. Only for what leaves nothing behind when it does not succeed. */
export const onceItIsBack = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.retry(Effect.sandbox(effect), {
    while: (cause) => isConnectionLost(Option.getOrUndefined(Cause.dieOption(cause))),
    schedule: Schedule.upTo(Schedule.spaced(tryAgain), patience)
  }).pipe(Effect.unsandbox)
