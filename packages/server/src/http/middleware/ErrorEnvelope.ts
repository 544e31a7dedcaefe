import { type ErrorEnvelope, ReinsError } from "@reins/base/domain/ReinsError"
import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { NotOwner, NotRestored } from "@reins/core/placement/Placements"
import { failedStatementOf } from "@reins/core/store/FailedStatement"
import { describeFault, type StorageFault, storageError, storageFaultOf } from "@reins/core/store/StorageFault"
import { toDetails, type ValidationError } from "@reins/server/http/validation/Validation"
import { Cause, Chunk, Data, Effect, Option, Schema } from "effect"
import { Reply } from "../Reply.js"

/** The request does not match the schema of its endpoint. `detail` lists its faults in the order of its parts. */
export class ValidationFailed extends Data.TaggedError("ValidationFailed")<{
  readonly detail: ReadonlyArray<ValidationError>
}> {}

/** The time in milliseconds between two lines about the disk, because every request meets the same disk. */
const faultEveryMs = 10_000
const toldAt = new Map<StorageFault, number>()

const tellOfFault = (fault: StorageFault): Effect.Effect<void> =>
  Effect.suspend(() => {
    const at = performance.now()
    if (at - (toldAt.get(fault) ?? -faultEveryMs) < faultEveryMs) return Effect.void
    toldAt.set(fault, at)
    return Effect.logError(`${describeFault(fault)}: requests that write are refused until it takes writes again`)
  })

/**
 * The answer to a failure: 422 for a malformed request, the envelope for all others. A full or broken disk is answered with
 * `waiting_capacity`. Another defect is logged and answered with `internal_error`, which shows nothing of it.
 */
export const replyToFailure = (cause: Cause.Cause<unknown>, requestId: string): Effect.Effect<Reply> => {
  const error = Cause.isDie(cause) ? undefined : Cause.squash(cause)
  if (error instanceof ValidationFailed) return Effect.succeed(invalid(error.detail))
  if (error instanceof RequestInvalid) return Effect.succeed(invalid(toDetails(error.loc, error.issue, error.input)))
  if (error instanceof ReinsError) return Effect.succeed(errorReply(error, requestId))
  if (isNotOwner(cause)) return Effect.succeed(errorReply(moved, requestId))
  const unrestored = Chunk.findFirst(Cause.defects(cause), (defect) => defect instanceof NotRestored)
  if (Option.isSome(unrestored)) return Effect.succeed(errorReply(notRestored(unrestored.value), requestId))
  const fault = storageFaultOf(cause)
  if (fault !== undefined) return Effect.as(tellOfFault(fault), errorReply(storageError(fault), requestId))
  return Effect.flatMap(passingOf(cause), (passing) =>
    passing === undefined
      ? Effect.logError("request failed unexpectedly").pipe(
          Effect.annotateLogs({ request_id: requestId, cause: Cause.pretty(cause), ...databaseFields(cause) }),
          Effect.as(errorReply(internalError, requestId))
        )
      : Effect.logWarning(passing === busy ? "the database was busy" : "the database could not be reached").pipe(
          Effect.annotateLogs({ request_id: requestId, ...databaseFields(cause) }),
          Effect.as(errorReply(passing, requestId))
        )
  )
}

/** The answer to a failure of the database that passes. The modules that know them are loaded with the first failure, because a start needs none of them. */
const passingOf = (cause: Cause.Cause<unknown>): Effect.Effect<typeof busy | undefined> =>
  Effect.promise(async () => {
    const { isBusy } = await import("@reins/core/store/BusyDatabase")
    const { CommitUnknown, isConnectionLost } = await import("@reins/core/store/LostConnection")
    const defect = Cause.squash(cause)
    if (isBusy(defect)) return busy
    return isConnectionLost(defect) || defect instanceof CommitUnknown ? unavailable : undefined
  })

/** Another statement was in the way for too long, or the database has no connection left. */
const busy = new ReinsError({
  code: "waiting_capacity",
  message: "The database is busy, and nothing was done. Try again in a moment.",
  details: { reason: "database_busy" },
  retryAfterSeconds: 1
})

/** The database is away for longer than a request waits for it, or the connection broke when a change was on its way. */
const unavailable = new ReinsError({
  code: "waiting_capacity",
  message:
    "The database cannot be reached, so it is not known whether the request was carried out. Try again in a moment, with the same Idempotency-Key.",
  details: { reason: "database_unavailable" },
  retryAfterSeconds: 5
})

/** The files are on another node since the request came here, or this node may not act any more. */
const moved = new ReinsError({
  code: "waiting_capacity",
  message: "The session has just changed its node. Nothing was done. Try again in a moment.",
  details: { reason: "moved" },
  retryAfterSeconds: 1
})

/** The snapshot of the session could not be brought to this node. */
const notRestored = ({ message }: NotRestored) =>
  new ReinsError({
    code: "waiting_capacity",
    message: `The files of the session could not be restored here, and nothing was done. ${message}`,
    details: { reason: "not_restored" },
    retryAfterSeconds: 10
  })

const isNotOwner = (cause: Cause.Cause<unknown>): boolean =>
  Chunk.some(Cause.defects(cause), (defect) => defect instanceof NotOwner)

/** The message of a database may quote values of a request, so only the names in it are logged. */
const databaseFields = (cause: Cause.Cause<unknown>): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(failedStatementOf(Cause.squash(cause)) ?? {}).flatMap(([name, value]) =>
      value === undefined ? [] : [[`database_${name}`, value]]
    )
  )

/** An error of any code as it goes over the wire. */
export const envelopeOf = (error: ReinsError, requestId: string): ErrorEnvelope => ({
  error: {
    code: error.code,
    category: error.category,
    message: error.message,
    retryable: error.retryable,
    details: error.details ?? {},
    request_id: requestId
  }
})

/** Headers of an answer with an error, for programs that do not read its body. */
export const errorHeaders = (
  status: number,
  retryable: boolean,
  retryAfterSeconds?: number
): Readonly<Record<string, string>> => ({
  "x-should-retry": String(retryable),
  ...(retryAfterSeconds !== undefined && { "retry-after": String(Math.max(1, Math.ceil(retryAfterSeconds))) }),
  ...(status === 401 && { "www-authenticate": "Bearer" })
})

/** `errorHeaders` of an error, with the limit that its caller has reached. */
export const headersOf = (error: ReinsError): Readonly<Record<string, string>> => ({
  ...errorHeaders(error.status, error.retryable, error.retryAfterSeconds),
  ...(isLimit(error.details) && {
    "ratelimit-policy": `"${error.details.policy}";q=${error.details.limit};w=${error.details.window_seconds}`,
    ratelimit: `"${error.details.policy}";r=0;t=${error.retryAfterSeconds ?? error.details.window_seconds}`
  })
})

const isLimit = Schema.is(Schema.Struct({ policy: Schema.String, limit: Schema.Int, window_seconds: Schema.Int }))

/** The answer to an error that is expected. */
export const errorReply = (error: ReinsError, requestId: string): Reply =>
  Reply.json(error.status, envelopeOf(error, requestId), headersOf(error))

const invalid = (detail: ReadonlyArray<ValidationError>): Reply => Reply.json(422, { detail }, errorHeaders(422, false))

const internalError = new ReinsError({
  code: "internal_error",
  message: "Something went wrong here. Try again; if it stays, ask the operator to look for the request id in the log."
})
