import { type Forge, ForgeError } from "@reins/machine/forge/Forge"
import type { ForgeErrorKind } from "@reins/machine/forge/ForgeCalls"
import { Forges } from "@reins/machine/forge/Forges"
import { Effect } from "effect"
import type { ConnectionHealth } from "../../connections/Connection.js"
import { ConnectionStore } from "../../connections/ConnectionStore.js"
import { TokenMint } from "../../connections/TokenMint.js"
import { DeliveryStore } from "../../deliveries/DeliveryStore.js"
import type { JobFailure } from "../../jobs/Job.js"
import { type AttemptLost, JobError, type RunningAttempt } from "../../jobs/JobKind.js"
import { SessionStore } from "../../sessions/rows/SessionStore.js"
import { type MergeRequest, MergeRequestReason } from "../rows/MergeRequest.js"
import type { Declined } from "../rows/MergeRequestWrites.js"

/**
 * Gives the function that uses the forge of a merge request. Its connection becomes `ready` when the forge answers, and `reauth_required` when
 * the forge refuses the credential. A connection that cannot be opened is `unauthenticated`.
 */
export const forgeAccess = Effect.gen(function* () {
  const forges = yield* Forges
  const connections = yield* ConnectionStore
  const sessions = yield* SessionStore
  const deliveries = yield* DeliveryStore
  const mint = yield* TokenMint

  return Effect.fnUntraced(function* <A>(
    attempt: RunningAttempt,
    request: MergeRequest,
    use: (forge: Forge) => Effect.Effect<A, ForgeError | AttemptLost>
  ): Effect.fn.Return<A, ForgeError | AttemptLost> {
    const session = yield* sessions.find(request.session_id)
    const delivery = yield* deliveries.find(request.delivery_id)
    if (session === undefined || delivery === undefined) return yield* Effect.dieMessage(`no delivery of ${request.id}`)
    const connection = yield* connections
      .open(session.workspace_id, request.connection_id)
      .pipe(Effect.mapError(({ message }) => new ForgeError({ kind: "unauthenticated", message })))
    const observe = (health: ConnectionHealth) =>
      attempt.commit(connections.observe(connection.id, connection.credentialId, health))
    const remoteUrl = delivery.remote_url ?? ""
    const opened = Effect.flatMap(mint.forApi(connection, remoteUrl), (tokened) => forges.open(tokened, remoteUrl))
    return yield* Effect.flatMap(opened, use).pipe(
      Effect.tapErrorTag("ForgeError", (error) =>
        error.kind === "unauthenticated" ? observe("reauth_required") : Effect.void
      ),
      Effect.tap(() => observe("ready"))
    )
  })
})

const reasons: Readonly<Record<ForgeErrorKind, MergeRequestReason>> = {
  unauthenticated: "auth_required",
  forbidden: "auth_required",
  not_found: "rejected",
  exists: "rejected",
  rejected: "rejected",
  remote_head_changed: "remote_head_changed",
  not_mergeable: "not_mergeable",
  rate_limited: "rate_limited",
  unavailable: "remote_unavailable"
}

/** True for a failure of the forge that may pass without anybody's help. */
export const isPassing = ({ kind }: ForgeError): boolean => kind === "rate_limited" || kind === "unavailable"

/** A failure of the forge as that of a job, whose code is a `MergeRequestReason`. */
export const forgeJobError = (error: ForgeError): JobError =>
  new JobError({
    code: reasons[error.kind],
    message: error.message,
    retryable: isPassing(error),
    pauseMs: (attempt) => pauseAfter(error, attempt),
    ...(error.mayHaveHappened && { attempt: "unknown" as const })
  })

const firstPauseMs = 60_000

/** The pause that a forge wants, in milliseconds. GitHub wants a minute where it names none, and longer each time. */
export const pauseAfter = ({ kind, retryAfterMs }: ForgeError, attempt: number): number =>
  retryAfterMs ?? (kind === "rate_limited" ? firstPauseMs * 2 ** Math.min(6, attempt - 1) : 0)

/** The failure of a job as the reason of its merge request. */
export const declinedBy = ({ code, message }: JobFailure): Declined => ({
  reason: MergeRequestReason.literals.find((reason) => reason === code) ?? null,
  message
})

/** Fails with `AttemptLost` when another worker has taken the job over, so that nothing is changed on the forge twice. */
export const stillClaimed = (attempt: RunningAttempt): Effect.Effect<void, AttemptLost> => attempt.commit(Effect.void)
