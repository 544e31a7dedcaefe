import { failpoint } from "@reins/base/base/Failpoint"
import { fn } from "@reins/base/base/Traced"
import { MergeRequestId } from "@reins/base/domain/Ids"
import { MergeMethod } from "@reins/base/domain/MergeMethod"
import { methodFor } from "@reins/machine/forge/BranchDemands"
import { type Forge, ForgeError, unproven } from "@reins/machine/forge/Forge"
import { Effect, Schema } from "effect"
import { systemActor } from "../access/Access.js"
import type { Claim } from "../jobs/Claim.js"
import type { JobFailure } from "../jobs/Job.js"
import type { Completion, JobWork, RunningAttempt } from "../jobs/JobKind.js"
import type { Commit } from "../store/Commit.js"
import { makeMergeGuard } from "./conditions/MergeGuard.js"
import { declinedBy, forgeAccess, forgeJobError } from "./looks/ForgeAccess.js"
import type { MergeRequest } from "./rows/MergeRequest.js"
import { MergeRequestStore } from "./rows/MergeRequestStore.js"
import { type Reading, readNow } from "./rows/Reading.js"

const actor = systemActor("merge_requests")

const mergeRequestOf = (claim: Claim): MergeRequestId => MergeRequestId.make(claim.subject.id)

/** `round` is that of the conditions which have begun the merge; absent when somebody has named the commit. */
const MergePayload = Schema.Struct({
  expected_head_sha: Schema.String,
  method: MergeMethod,
  /** True where nobody has named the method. */
  any_method: Schema.optional(Schema.Boolean),
  /** The branch that it was to be merged into when the merge was asked for. */
  base_branch: Schema.optional(Schema.String),
  delete_branch: Schema.optional(Schema.Boolean),
  round: Schema.optional(Schema.Int)
})
const payloadOf = ({ payload }: Claim) => Schema.decodeUnknownSync(MergePayload)(payload)
type MergePayload = typeof MergePayload.Type

/** Merges an open merge request at exactly one head. It looks first, so a merge whose answer was lost is not made again. */
export const mergeWork = Effect.gen(function* () {
  const store = yield* MergeRequestStore
  const access = yield* forgeAccess
  const completion = yield* makeComplete
  const guard = yield* makeMergeGuard

  return {
    run: fn("mergeJob.run")(function* (attempt) {
      const request = yield* store.find(mergeRequestOf(attempt.claim))
      const payload = payloadOf(attempt.claim)
      // A look may have seen the merge before an attempt that died has removed the branch.
      const hasWork = request?.state === "open" || (request?.state === "merged" && payload.delete_branch === true)
      if (request === undefined || !hasWork || request.number === null) {
        return { state: "succeeded" as const, command: Effect.void }
      }
      const { number } = request
      const stop = payload.round === undefined ? Effect.succeed(undefined) : guard.stop(request, payload.round)
      const work = { attempt, request, number, payload, stop }
      return yield* access(attempt, request, (forge) => mergeOn(forge, work)).pipe(
        Effect.map((outcome) => completion(request, outcome, payload)),
        Effect.catchTag("ForgeError", (error) => Effect.fail(forgeJobError(error)))
      )
    }),
    failed: fn("mergeJob.failed")(function* (claim, failure) {
      const request = yield* store.find(mergeRequestOf(claim))
      if (request?.state !== "open") return
      yield* store.mergeDeclined(request.id, declinedBy(failure), actor)
      const { round } = payloadOf(claim)
      if (round !== undefined) yield* guard.declined(request, round, failure)
    }),
    lost: () => Effect.succeed({ next: "retry" as const, command: Effect.void })
  } satisfies JobWork
})

/** The reason for which a merge did not take place, with a `MergeRequestReason` or another word as its code. */
type Refused = Pick<JobFailure, "code" | "message">

/** A merge request as the forge has it after an attempt to merge it, and the reason if it was not merged. */
interface MergeOutcome {
  readonly seen: Reading
  readonly declined: Refused | undefined
}

interface MergeWork {
  readonly attempt: RunningAttempt
  readonly request: MergeRequest
  readonly number: number
  readonly payload: MergePayload
  /** Asks whether the merge may go on, right before it. */
  readonly stop: Effect.Effect<Refused | undefined, never, Commit>
}

/** Merges unless the merge request has ended already, or its head is another commit than expected. */
const mergeOn = Effect.fnUntraced(function* (forge: Forge, work: MergeWork) {
  const { attempt, number, payload, request, stop } = work
  const { expected_head_sha: expectedHead, method } = payload
  const before = yield* readNow(forge.get(number))
  if (before.remote.state !== "open") return yield* tidied(forge, work, outcomeOf(before, undefined))
  const stopped = yield* attempt.commit(stop)
  if (stopped !== undefined) return outcomeOf(before, stopped)
  const base = payload.base_branch ?? request.base_branch
  if ((before.remote.baseBranch ?? base) !== base) return outcomeOf(before, anotherBase)
  if (before.remote.headSha !== expectedHead) return outcomeOf(before, anotherHead)
  const declined = yield* mergeBy(forge, {
    number,
    expectedHead,
    method,
    base,
    mayDiffer: payload.any_method === true
  }).pipe(
    Effect.mapError(unproven),
    Effect.zipRight(failpoint("merge_request.merged")),
    Effect.as(undefined),
    Effect.catchIf(
      ({ kind }) => kind === "remote_head_changed" || kind === "not_mergeable",
      (error) => Effect.succeed(forgeJobError(error))
    )
  )
  const after = yield* readNow(forge.get(number))
  if (declined === undefined && after.remote.state === "open") return yield* mergeNotShown
  return yield* tidied(forge, { request, payload }, outcomeOf(after, declined))
})

/** Merges with a method. Where nobody has named it, and the forge does not merge, it is tried with one that the rules take. */
const mergeBy = (
  forge: Forge,
  given: {
    readonly number: number
    readonly expectedHead: string
    readonly method: MergeMethod
    readonly base: string
    readonly mayDiffer: boolean
  }
): Effect.Effect<void, ForgeError> => {
  const { expectedHead, mayDiffer, method, number } = given
  return forge.merge(number, { expectedHead, method }).pipe(
    Effect.catchIf(
      ({ kind }) => kind === "not_mergeable" && mayDiffer,
      (refused) =>
        Effect.flatMap(forge.rules(given.base), ({ demands }) => {
          const other = methodFor(demands, method, true)
          return other === undefined || other === method
            ? Effect.fail(refused)
            : forge.merge(number, { expectedHead, method: other })
        })
    )
  )
}

/** Removes the branch of a merged request if that is wanted. A branch that cannot be removed stays, and the merge stands all the same. */
const tidied = (forge: Forge, { payload, request }: Pick<MergeWork, "payload" | "request">, outcome: MergeOutcome) =>
  payload.delete_branch === true && outcome.seen.remote.state === "merged"
    ? forge.removeBranch(request.head_branch, payload.expected_head_sha).pipe(
        Effect.catchAll(({ message }) => Effect.logWarning("the branch of a merged request stays", message)),
        Effect.as(outcome)
      )
    : Effect.succeed(outcome)

const outcomeOf = (seen: Reading, declined: Refused | undefined): MergeOutcome => ({
  seen,
  declined: seen.remote.state === "merged" ? undefined : declined
})

/** Gives the function that ends the job, and writes down how the forge has the merge request. */
const makeComplete = Effect.gen(function* () {
  const store = yield* MergeRequestStore
  const guard = yield* makeMergeGuard

  return (request: MergeRequest, { declined = closed, seen }: MergeOutcome, { round }: MergePayload): Completion => {
    // A refresh may have written the end down first.
    const whileOpen = (command: Effect.Effect<void, never, Commit>) =>
      Effect.flatMap(store.find(request.id), (current) => (current?.state === "open" ? command : Effect.void))
    const observed = whileOpen(store.keepReading(request.id, seen, actor))
    if (seen.remote.state === "merged") return { state: "succeeded", command: observed }
    const failure = { code: declined.code, message: declined.message, retryable: false }
    if (seen.remote.state === "closed") return { state: "failed", failure, command: observed }
    const told = store.mergeDeclined(request.id, declinedBy(failure), actor)
    const waits = round === undefined ? Effect.void : guard.declined(request, round, failure)
    return { state: "failed", failure, command: Effect.zipRight(observed, whileOpen(Effect.zipRight(told, waits))) }
  }
})

const anotherHead: Refused = {
  code: "remote_head_changed",
  message:
    "The head of the merge request is another commit than the one to merge. Refresh the delivery, look at what is there, then merge that."
}

const anotherBase: Refused = {
  code: "not_mergeable",
  message:
    "Somebody has changed the base branch of the merge request on the forge. Look at what would be merged there, then merge again."
}

const closed: Refused = {
  code: "not_mergeable",
  message: "The merge request was closed on the forge. Open a new one of the delivery, if it is still wanted."
}

const mergeNotShown = new ForgeError({
  kind: "unavailable",
  message: "The forge took the merge but does not show it yet. Refresh the delivery later to see it."
})
