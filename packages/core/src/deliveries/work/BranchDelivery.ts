import { failpoint } from "@reins/base/base/Failpoint"
import { Bench } from "@reins/machine/bench/Bench"
import type { GitError } from "@reins/machine/repository/run/GitError"
import { Effect } from "effect"
import type { AttemptLost, Completion, JobError } from "../../jobs/JobKind.js"
import { defaultBranches } from "../BranchName.js"
import type { Delivery } from "../Delivery.js"
import { deliveryCancelled } from "../DeliveryEnd.js"
import { DeliveryStore } from "../DeliveryStore.js"
import { pushedCommit } from "../MadeCommits.js"
import { makeCheck } from "./DeliveryCheck.js"
import { makeMaterialize } from "./DeliveryCommit.js"
import { makeBlock, makeObserve, makePush, type ReadyToPush, type SeenBranch } from "./DeliveryPush.js"
import { deliveryRemote } from "./DeliveryRemote.js"
import { type DeliveryAttempt, deliveryActor, deliverySteps } from "./DeliverySteps.js"
import { ontoHead } from "./OntoHead.js"

/**
 * Gives the function that delivers a changeset as a branch: it makes the commit, looks at the remote, pushes, and looks again. A cancellation
 * is heeded until the push begins. A repetition after a push that was written down only looks, because pushing again could undo what happened
 * to the branch since.
 */
export const branchDelivery = Effect.gen(function* () {
  const remoteOf = yield* deliveryRemote
  const observe = yield* makeObserve
  const ontoBase = yield* makeOntoBase
  const onto = { base: ontoBase, head: yield* ontoHead }

  return Effect.fnUntraced(function* (work: DeliveryAttempt): Effect.fn.Return<Completion, JobError | AttemptLost> {
    const pushed = pushedCommit(work.delivery)
    if (pushed !== undefined) return yield* observe(work, remoteOf(work.delivery, work.session), pushed)
    return yield* onto[work.delivery.onto](work)
  })
})

/** Gives the function that delivers a changeset as one commit on its base. */
const makeOntoBase = Effect.gen(function* () {
  const { changes } = yield* Bench
  const steps = yield* deliverySteps
  const remoteOf = yield* deliveryRemote
  const cancelled = yield* deliveryCancelled
  const check = yield* makeCheck
  const materialize = yield* makeMaterialize
  const push = yield* makePush
  const block = yield* makeBlock
  const observe = yield* makeObserve
  const moveAside = yield* makeMoveAside

  const look = (work: DeliveryAttempt): Effect.Effect<SeenBranch, JobError | AttemptLost> =>
    Effect.flatMap(remoteOf(work.delivery, work.session), (remote) =>
      changes.head(remote).pipe(
        Effect.map((head) => ({ work, remote, head })),
        Effect.catchTag("GitError", (error) =>
          Effect.flatMap(moveAside(work, error), (moved) =>
            moved === undefined ? steps.failWith(work, "observe")(error) : look(moved)
          )
        )
      )
    )

  const prepare = Effect.fnUntraced(function* (work: DeliveryAttempt) {
    yield* check(work)
    const base = work.changeset.base_commit
    const made = yield* materialize(work, { tree: work.tree, parents: base === null ? [] : [base] })
    yield* failpoint("delivery.materialized")
    const ready: ReadyToPush = { ...(yield* look(work)), made }
    return ready
  })

  return Effect.fnUntraced(function* (work: DeliveryAttempt): Effect.fn.Return<Completion, JobError | AttemptLost> {
    const ready = yield* Effect.raceFirst(prepare(work), Effect.as(work.attempt.cancelRequested, "cancelled" as const))
    if (ready === "cancelled") return { state: "cancelled", command: cancelled(work.delivery.id, deliveryActor) }
    yield* failpoint("delivery.head_seen")
    return yield* push(ready).pipe(
      Effect.flatMap((head) => observe(ready.work, Effect.succeed(ready.remote), head)),
      Effect.catchTag("JobError", (error) => block(ready, error))
    )
  })
})

/**
 * Gives the function that takes the next of the default branches when one of the remote is in the way. It gives nothing for any other failure,
 * nor for a branch that the request has named.
 */
const makeMoveAside = Effect.gen(function* () {
  const deliveries = yield* DeliveryStore
  const steps = yield* deliverySteps
  return Effect.fnUntraced(function* (work: DeliveryAttempt, { inTheWay, kind, message }: GitError) {
    const { attempt, delivery } = work
    if (inTheWay === undefined) return undefined
    const targetRef = nextDefault(delivery, inTheWay)
    if (targetRef === undefined || (yield* deliveries.findOf(targetOf(delivery, targetRef))) !== undefined) {
      return undefined
    }
    yield* steps.failed(work, "observe", { branch: delivery.target_ref, kind, message })
    yield* attempt.commit(deliveries.retarget(delivery.id, targetRef))
    const moved: DeliveryAttempt = { ...work, delivery: { ...delivery, target_ref: targetRef } }
    return moved
  })
})

const targetOf = ({ changeset_id, transport }: Delivery, targetRef: string) => ({
  changesetId: changeset_id,
  transport,
  targetRef
})

const nextDefault = ({ changeset_id, session_id, target_ref }: Delivery, inTheWay: string): string | undefined => {
  const end = `/${session_id}/${changeset_id}`
  if (!target_ref.endsWith(end)) return undefined
  const isFree = (name: string) => !name.startsWith(`${inTheWay}/`) && !inTheWay.startsWith(`${name}/`)
  return defaultBranches(target_ref.slice(0, -end.length), session_id, changeset_id).find(isFree)
}
