import { failpoint } from "@reins/base/base/Failpoint"
import { Bench } from "@reins/machine/bench/Bench"
import { Effect } from "effect"
import type { AttemptLost, Completion, JobError } from "../../jobs/JobKind.js"
import type { Delivery } from "../Delivery.js"
import { failedEnd, isBlocking } from "../DeliveryEnd.js"
import { DeliveryStore } from "../DeliveryStore.js"
import { type MadeCommit, madeCommits } from "../MadeCommits.js"
import type { DeliveryRemote } from "./DeliveryRemote.js"
import { type DeliveryAttempt, deliveryActor, deliverySteps } from "./DeliverySteps.js"

/** The branch of a delivery, at the head where it was just seen. */
export interface SeenBranch {
  readonly work: DeliveryAttempt
  readonly remote: DeliveryRemote
  /** Null when the branch is not there. */
  readonly head: string | null
}

/** A commit, and the branch that it is for. */
export interface ReadyToPush extends SeenBranch {
  readonly made: MadeCommit
}

/** Gives the function that pushes a commit and writes the push down. */
export const makePush = Effect.gen(function* () {
  const { changes } = yield* Bench
  const steps = yield* deliverySteps
  const expectation = yield* makeExpect
  return Effect.fnUntraced(function* ({ head, made, remote, work }: ReadyToPush) {
    const { delivery } = work
    const expected = yield* expectation(delivery, head)
    // A worker that was stopped for longer than its claim must not push: the delivery may have been cancelled since.
    yield* work.attempt.commit(Effect.void)
    const pushed = yield* changes
      .push(remote, { commit: made.commit, ...expected })
      .pipe(Effect.catchTag("GitError", steps.failWith(work, "push", { branch: delivery.target_ref, head })))
    yield* failpoint("delivery.pushed")
    yield* steps.done(work, "push", { branch: delivery.target_ref, ...pushed, previous_head: head })
    yield* failpoint("delivery.push_recorded")
    return pushed.head
  })
})

/**
 * Gives the function that says where a push may find the branch. With `fast_forward` that is wherever the branch is. With
 * `force_with_lease` it is where the branch was last seen, so that commits that nobody has looked at are never replaced. A branch that was
 * never seen before is only moved forward.
 */
const makeExpect = Effect.gen(function* () {
  const deliveries = yield* DeliveryStore
  return Effect.fnUntraced(function* (delivery: Delivery, head: string | null) {
    const forward = { expectedHead: head, strategy: "fast_forward" as const }
    if (delivery.update_strategy === "fast_forward" || head === null) return forward
    const seen = delivery.observed_head ?? (yield* deliveries.lastObserved(delivery))
    return seen === null ? forward : { expectedHead: seen, strategy: "force_with_lease" as const }
  })
})

/** Gives the function that ends a delivery which a person has to help. Any other failure is that of the attempt. */
export const makeBlock = Effect.gen(function* () {
  const deliveries = yield* DeliveryStore
  return (
    { head, work }: Pick<SeenBranch, "head" | "work">,
    error: JobError,
    conflicts: ReadonlyArray<string> = []
  ): Effect.Effect<Completion, JobError> => {
    if (!isBlocking(error.code)) return Effect.fail(error)
    const failure = { code: error.code, message: error.message, retryable: false }
    const end = { ...failedEnd(failure), conflicts, observedHead: head }
    return Effect.succeed({
      state: "failed",
      failure,
      command: deliveries.move(work.delivery.id, end, deliveryActor)
    })
  }
})

/**
 * Ends a delivery whose push is proven, with a last look at the branch. When the remote cannot be looked at any more, the branch counts as
 * seen at the commit that was pushed.
 */
export const makeObserve = Effect.gen(function* () {
  const { changes } = yield* Bench
  const deliveries = yield* DeliveryStore
  const steps = yield* deliverySteps
  return Effect.fnUntraced(function* (
    work: DeliveryAttempt,
    remote: Effect.Effect<DeliveryRemote, JobError>,
    commit: string
  ): Effect.fn.Return<Completion, AttemptLost> {
    const seen = yield* Effect.flatMap(remote, changes.head).pipe(
      Effect.tap((head) => steps.done(work, "observe", { branch: work.delivery.target_ref, head })),
      Effect.catchTags({
        GitError: ({ kind, message }) => Effect.as(steps.failed(work, "observe", { kind, message }), commit),
        JobError: ({ code, message }) => Effect.as(steps.failed(work, "observe", { kind: code, message }), commit)
      })
    )
    const made = madeCommits((yield* deliveries.find(work.delivery.id)) ?? work.delivery)
    const parents = made.find((each) => each.commit === commit)?.parents ?? []
    const end = { state: "succeeded" as const, commit, parents, observedHead: seen }
    return { state: "succeeded", command: deliveries.move(work.delivery.id, end, deliveryActor) }
  })
})
