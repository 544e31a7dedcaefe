import { Effect, Schema } from "effect"
import { systemActor } from "../access/Access.js"
import { failpoint } from "../base/Failpoint.js"
import { fn } from "../base/Traced.js"
import { ConnectionStore } from "../connections/ConnectionStore.js"
import type { ConnectionHealth } from "../domain/Connection.js"
import { MergeRequestId } from "../domain/Ids.js"
import type { JobFailure } from "../domain/Job.js"
import { MergeMethod, type MergeRequest, MergeRequestReason } from "../domain/MergeRequest.js"
import { type Forge, ForgeError, type ForgeErrorKind, unproven } from "../forge/Forge.js"
import { Forges } from "../forge/Forges.js"
import type { Claim } from "../jobs/Claim.js"
import { type AttemptLost, type Completion, JobError, type JobKind, type RunningAttempt } from "../jobs/JobKind.js"
import { SessionStore } from "../sessions/SessionStore.js"
import type { Commit } from "../store/Commit.js"
import { DeliveryStore } from "./DeliveryStore.js"
import { type Declined, MergeRequestStore } from "./MergeRequestStore.js"
import { mergeJobKind, openJobKind } from "./MergeRequests.js"

const actor = systemActor("merge_requests")

const mergeRequestOf = (claim: Claim): MergeRequestId => MergeRequestId.make(claim.subject.id)

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

const jobErrorOf = ({ kind, mayHaveHappened, message }: ForgeError): JobError =>
  new JobError({
    code: reasons[kind],
    message,
    retryable: kind === "rate_limited" || kind === "unavailable",
    ...(mayHaveHappened && { attempt: "unknown" as const })
  })

const declinedBy = ({ code, message }: JobFailure): Declined => ({
  reason: MergeRequestReason.literals.find((reason) => reason === code) ?? null,
  message
})

const done = { state: "succeeded", command: Effect.void } as const

/** The line of a description by which a merge request is known as that of a delivery. */
const markerOf = (request: MergeRequest): string => `Reins-Delivery: ${request.delivery_id}`

/** Talks to the forge of a merge request, and keeps what that says of the connection. */
export const forgeAccess = Effect.gen(function* () {
  const forges = yield* Forges
  const connections = yield* ConnectionStore
  const sessions = yield* SessionStore
  const deliveries = yield* DeliveryStore

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
    const forge = yield* forges.open(connection, delivery.remote_url ?? "")
    const observe = (health: ConnectionHealth) =>
      attempt.commit(connections.observe(connection.id, connection.credentialId, health))
    return yield* use(forge).pipe(
      Effect.tapErrorTag("ForgeError", (error) =>
        error.kind === "unauthenticated" ? observe("reauth_required") : Effect.void
      ),
      Effect.tap(() => observe("ready"))
    )
  })
})

/** A worker that was stopped for longer than its claim must not change what another has dealt with since. */
const stillClaimed = (attempt: RunningAttempt) => attempt.commit(Effect.void)

/** Looks for an open one first, so that a repetition finds its own and nobody else's is doubled. */
const openOn = Effect.fnUntraced(function* (attempt: RunningAttempt, forge: Forge, request: MergeRequest) {
  const branches = { head: request.head_branch, base: request.base_branch }
  const found = yield* forge.find(branches)
  if (found !== undefined) return found
  yield* failpoint("merge_request.looked_up")
  yield* stillClaimed(attempt)
  const marker = markerOf(request)
  return yield* forge
    .create({
      ...branches,
      title: request.title,
      description: request.description === "" ? marker : `${request.description}\n\n${marker}`,
      draft: request.draft
    })
    .pipe(
      Effect.mapError(unproven),
      Effect.catchIf(
        (error) => error.kind === "exists",
        (error) =>
          Effect.flatMap(forge.find(branches), (other) =>
            other === undefined
              ? Effect.fail(new ForgeError({ kind: "rejected", message: `The forge declines it: ${error.message}` }))
              : Effect.succeed(other)
          )
      )
    )
})

/** Opens a merge request, or adopts the open one of the same branches. */
export const openMergeRequestJob = Effect.gen(function* () {
  const store = yield* MergeRequestStore
  const access = yield* forgeAccess
  return {
    kind: openJobKind,
    concurrency: 4,
    deadlineMs: 5 * 60_000,
    run: fn("openMergeRequestJob.run")(function* (attempt) {
      const request = yield* store.find(mergeRequestOf(attempt.claim))
      if (request?.state !== "pending") return done
      const remote = yield* access(attempt, request, (forge) => openOn(attempt, forge, request)).pipe(
        Effect.catchTag("ForgeError", (error) => Effect.fail(jobErrorOf(error)))
      )
      yield* failpoint("merge_request.created")
      const adopted = !remote.description.includes(markerOf(request))
      return { state: "succeeded" as const, command: store.opened(request.id, remote, adopted, actor) }
    }),
    failed: fn("openMergeRequestJob.failed")(function* (claim, failure) {
      const request = yield* store.find(mergeRequestOf(claim))
      if (request?.state === "pending") yield* store.failed(request.id, declinedBy(failure), actor)
    }),
    lost: () => Effect.succeed({ next: "retry" as const, command: Effect.void })
  } satisfies JobKind
})

const MergePayload = Schema.Struct({ expected_head_sha: Schema.String, method: MergeMethod })

/** Merges an open merge request at exactly one head. It looks first, so that a merge whose answer was lost is not made again. */
export const mergeJob = Effect.gen(function* () {
  const store = yield* MergeRequestStore
  const access = yield* forgeAccess

  const mergeOn = Effect.fnUntraced(function* (
    attempt: RunningAttempt,
    forge: Forge,
    number: number,
    { expected_head_sha: expectedHead, method }: typeof MergePayload.Type
  ) {
    const before = yield* forge.get(number)
    if (before.state !== "open") return { remote: before, declined: undefined }
    yield* stillClaimed(attempt)
    const declined =
      before.headSha !== expectedHead
        ? new ForgeError({ kind: "remote_head_changed", message: "The head of the merge request is another commit." })
        : yield* forge.merge(number, { expectedHead, method }).pipe(
            Effect.mapError(unproven),
            Effect.zipRight(failpoint("merge_request.merged")),
            Effect.as(undefined),
            Effect.catchIf(
              (error) => error.kind === "remote_head_changed" || error.kind === "not_mergeable",
              Effect.succeed
            )
          )
    const remote =
      declined?.kind === "remote_head_changed" && before.headSha !== expectedHead ? before : yield* forge.get(number)
    if (declined === undefined && remote.state === "open") {
      return yield* new ForgeError({
        kind: "unavailable",
        message: "The forge took the merge but does not show it yet."
      })
    }
    return { remote, declined: remote.state === "merged" ? undefined : declined }
  })

  const endOf = (
    request: MergeRequest,
    { declined, remote }: Effect.Effect.Success<ReturnType<typeof mergeOn>>
  ): Completion => {
    // A refresh may have seen the end first.
    const unlessEnded = (command: Effect.Effect<void, never, Commit>) =>
      Effect.flatMap(store.find(request.id), (now) => (now?.state === "open" ? command : Effect.void))
    const seen = unlessEnded(store.observed(request.id, remote, actor))
    if (remote.state === "merged") return { state: "succeeded", command: seen }
    const error = declined ?? new ForgeError({ kind: "not_mergeable", message: "The merge request was closed." })
    const { code, message } = jobErrorOf(error)
    const failure = { code, message, retryable: false }
    const command =
      remote.state === "closed"
        ? seen
        : Effect.zipRight(seen, unlessEnded(store.mergeDeclined(request.id, declinedBy(failure), actor)))
    return { state: "failed", failure, command }
  }

  return {
    kind: mergeJobKind,
    concurrency: 4,
    deadlineMs: 5 * 60_000,
    run: fn("mergeJob.run")(function* (attempt) {
      const request = yield* store.find(mergeRequestOf(attempt.claim))
      if (request?.state !== "open" || request.number === null) return done
      const { number } = request
      const payload = Schema.decodeUnknownSync(MergePayload)(attempt.claim.payload)
      return yield* access(attempt, request, (forge) => mergeOn(attempt, forge, number, payload)).pipe(
        Effect.map((outcome) => endOf(request, outcome)),
        Effect.catchTag("ForgeError", (error) => Effect.fail(jobErrorOf(error)))
      )
    }),
    failed: fn("mergeJob.failed")(function* (claim, failure) {
      const request = yield* store.find(mergeRequestOf(claim))
      if (request?.state === "open") yield* store.mergeDeclined(request.id, declinedBy(failure), actor)
    }),
    lost: () => Effect.succeed({ next: "retry" as const, command: Effect.void })
  } satisfies JobKind
})
