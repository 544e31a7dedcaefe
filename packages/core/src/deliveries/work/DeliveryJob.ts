import { failpoint } from "@reins/base/base/Failpoint"
import { fn } from "@reins/base/base/Traced"
import { DeliveryId } from "@reins/base/domain/Ids"
import { Bench } from "@reins/machine/bench/Bench"
import { Effect } from "effect"
import { ChangesetStore } from "../../changes/ChangesetStore.js"
import type { Claim } from "../../jobs/Claim.js"
import { type AttemptLost, type Completion, JobError, type JobWork, type RunningAttempt } from "../../jobs/JobKind.js"
import { SessionStore } from "../../sessions/rows/SessionStore.js"
import { WorkingTrees } from "../../worktrees/WorkingTrees.js"
import { failedEnd } from "../DeliveryEnd.js"
import { DeliveryStore } from "../DeliveryStore.js"
import { branchDelivery } from "./BranchDelivery.js"
import { type DeliveryAttempt, deliveryActor, deliverySteps } from "./DeliverySteps.js"
import { deliveryTraces } from "./DeliveryTraces.js"

const deliveryOf = (claim: Claim): DeliveryId => DeliveryId.make(claim.subject.id)

/** Carries out a delivery. Each attempt looks at the remote before it pushes, so a repetition finds its own work and does nothing twice. */
export const deliveryWork = Effect.gen(function* () {
  const deliveries = yield* DeliveryStore
  const begin = yield* makeBegin
  const asBranch = yield* branchDelivery
  const asPatch = yield* patchDelivery
  const inTrace = yield* deliveryTraces

  return {
    run: fn("deliveryJob.run")(function* (attempt) {
      const work = yield* begin(attempt)
      if (work === undefined) return { state: "succeeded" as const, command: Effect.void }
      // On top of a head, a changeset without changes takes an earlier delivery back.
      if (work.changeset.empty && work.delivery.onto === "base") return yield* nothingToDeliver
      yield* failpoint("delivery.begun")
      return yield* inTrace(work, work.delivery.transport === "patch" ? asPatch(work) : asBranch(work))
    }),
    failed: fn("deliveryJob.failed")(function* (claim, failure) {
      const delivery = yield* deliveries.find(deliveryOf(claim))
      if (delivery?.state === "pending") yield* deliveries.move(delivery.id, { state: "executing" }, deliveryActor)
      else if (delivery?.state !== "executing") return
      yield* deliveries.move(delivery.id, failedEnd(failure), deliveryActor)
    }),
    lost: () => Effect.succeed({ next: "retry" as const, command: Effect.void })
  } satisfies JobWork
})

/** Marks the delivery of an attempt as executing. Gives nothing when there is none that could be carried out. */
const makeBegin = Effect.gen(function* () {
  const deliveries = yield* DeliveryStore
  const changesets = yield* ChangesetStore
  const sessions = yield* SessionStore
  return Effect.fnUntraced(function* (attempt: RunningAttempt) {
    const id = deliveryOf(attempt.claim)
    const delivery = yield* attempt.commit(
      Effect.gen(function* () {
        if ((yield* deliveries.find(id))?.state === "pending") {
          yield* deliveries.move(id, { state: "executing" }, deliveryActor)
        }
        return yield* deliveries.find(id)
      })
    )
    if (delivery?.state !== "executing") return undefined
    const changeset = yield* changesets.find(delivery.changeset_id)
    const session = yield* sessions.find(delivery.session_id)
    if (changeset === undefined || changeset.tree === null || session === undefined) return undefined
    const work: DeliveryAttempt = { attempt, delivery, changeset, tree: changeset.tree, session }
    return work
  })
})

/** Gives the function that keeps the change with the delivery, as a text that `git apply` accepts. */
const patchDelivery = Effect.gen(function* () {
  const { changes } = yield* Bench
  const trees = yield* WorkingTrees
  const deliveries = yield* DeliveryStore
  const steps = yield* deliverySteps
  return Effect.fnUntraced(function* (work: DeliveryAttempt): Effect.fn.Return<Completion, JobError | AttemptLost> {
    yield* trees.requireOwned(work.session.id)
    const patch = yield* changes
      .patch({ session: work.session.id, base: work.changeset.base_commit, tree: work.tree })
      .pipe(Effect.catchTag("GitError", steps.failWith(work, "materialize")))
    yield* steps.done(work, "materialize", { bytes: Buffer.byteLength(patch) })
    return {
      state: "succeeded",
      command: deliveries.move(work.delivery.id, { state: "succeeded", patch }, deliveryActor)
    }
  })
})

const nothingToDeliver = new JobError({
  code: "empty_changeset",
  message: "The changeset is empty: there is nothing to deliver.",
  retryable: false
})
