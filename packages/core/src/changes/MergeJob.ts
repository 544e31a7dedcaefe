import { Effect, Schema } from "effect"
import { systemActor } from "../access/Access.js"
import { failpoint } from "../base/Failpoint.js"
import { fn } from "../base/Traced.js"
import { MergeRequestId } from "../domain/Ids.js"
import { MergeMethod } from "../domain/MergeMethod.js"
import { type Forge, ForgeError, unproven } from "../forge/Forge.js"
import type { RemoteMergeRequest } from "../forge/ForgeCalls.js"
import type { Claim } from "../jobs/Claim.js"
import type { Completion, JobKind, RunningAttempt } from "../jobs/JobKind.js"
import type { Commit } from "../store/Commit.js"
import { declinedBy, forgeAccess, forgeJobError, stillClaimed } from "./ForgeAccess.js"
import type { MergeRequest } from "./MergeRequest.js"
import { mergeJobKind } from "./MergeRequestCommands.js"
import { MergeRequestStore } from "./MergeRequestStore.js"

const actor = systemActor("merge_requests")

const mergeRequestOf = (claim: Claim): MergeRequestId => MergeRequestId.make(claim.subject.id)

const MergePayload = Schema.Struct({ expected_head_sha: Schema.String, method: MergeMethod })
type MergePayload = typeof MergePayload.Type

/** Merges an open merge request at exactly one head. It looks first, so a merge whose answer was lost is not made again. */
export const mergeJob = Effect.gen(function* () {
  const store = yield* MergeRequestStore
  const access = yield* forgeAccess
  const completion = yield* makeComplete

  return {
    kind: mergeJobKind,
    concurrency: 4,
    deadlineMs: 5 * 60_000,
    run: fn("mergeJob.run")(function* (attempt) {
      const request = yield* store.find(mergeRequestOf(attempt.claim))
      if (request?.state !== "open" || request.number === null) {
        return { state: "succeeded" as const, command: Effect.void }
      }
      const { number } = request
      const payload = Schema.decodeUnknownSync(MergePayload)(attempt.claim.payload)
      return yield* access(attempt, request, (forge) => mergeOn(attempt, forge, number, payload)).pipe(
        Effect.map((outcome) => completion(request, outcome)),
        Effect.catchTag("ForgeError", (error) => Effect.fail(forgeJobError(error)))
      )
    }),
    failed: fn("mergeJob.failed")(function* (claim, failure) {
      const request = yield* store.find(mergeRequestOf(claim))
      if (request?.state === "open") yield* store.mergeDeclined(request.id, declinedBy(failure), actor)
    }),
    lost: () => Effect.succeed({ next: "retry" as const, command: Effect.void })
  } satisfies JobKind
})

/** A merge request as the forge has it after an attempt to merge it, and the reason if it was not merged. */
interface MergeOutcome {
  readonly remote: RemoteMergeRequest
  readonly declined: ForgeError | undefined
}

/** Merges unless the merge request has ended already, or its head is another commit than expected. */
const mergeOn = Effect.fnUntraced(function* (
  attempt: RunningAttempt,
  forge: Forge,
  number: number,
  { expected_head_sha: expectedHead, method }: MergePayload
) {
  const before = yield* forge.get(number)
  if (before.state !== "open") return outcomeOf(before, undefined)
  yield* stillClaimed(attempt)
  if (before.headSha !== expectedHead) return outcomeOf(before, anotherHead)
  const declined = yield* forge.merge(number, { expectedHead, method }).pipe(
    Effect.mapError(unproven),
    Effect.zipRight(failpoint("merge_request.merged")),
    Effect.as(undefined),
    Effect.catchIf(({ kind }) => kind === "remote_head_changed" || kind === "not_mergeable", Effect.succeed)
  )
  const after = yield* forge.get(number)
  if (declined === undefined && after.state === "open") return yield* mergeNotShown
  return outcomeOf(after, declined)
})

const outcomeOf = (remote: RemoteMergeRequest, declined: ForgeError | undefined): MergeOutcome => ({
  remote,
  declined: remote.state === "merged" ? undefined : declined
})

/** Gives the function that ends the job, and writes down how the forge has the merge request. */
const makeComplete = Effect.gen(function* () {
  const store = yield* MergeRequestStore

  return (request: MergeRequest, { declined = closed, remote }: MergeOutcome): Completion => {
    // A refresh may have written the end down first.
    const whileOpen = (command: Effect.Effect<void, never, Commit>) =>
      Effect.flatMap(store.find(request.id), (current) => (current?.state === "open" ? command : Effect.void))
    const seen = whileOpen(store.observed(request.id, remote, actor))
    if (remote.state === "merged") return { state: "succeeded", command: seen }
    const { code, message } = forgeJobError(declined)
    const failure = { code, message, retryable: false }
    if (remote.state === "closed") return { state: "failed", failure, command: seen }
    const told = whileOpen(store.mergeDeclined(request.id, declinedBy(failure), actor))
    return { state: "failed", failure, command: Effect.zipRight(seen, told) }
  }
})

const anotherHead = new ForgeError({
  kind: "remote_head_changed",
  message:
    "The head of the merge request is another commit than the one to merge. Refresh the delivery, look at what is there, then merge that."
})

const closed = new ForgeError({
  kind: "not_mergeable",
  message: "The merge request was closed on the forge. Open a new one of the delivery, if it is still wanted."
})

const mergeNotShown = new ForgeError({
  kind: "unavailable",
  message: "The forge took the merge but does not show it yet. Refresh the delivery later to see it."
})
