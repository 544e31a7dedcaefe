import { DateTime, Effect } from "effect"
import { failpoint } from "../base/Failpoint.js"
import { Bench } from "../bench/Bench.js"
import type { GitError } from "../git/GitError.js"
import { type AttemptLost, type Completion, JobError } from "../jobs/JobKind.js"
import { WorkingTrees } from "../worktrees/WorkingTrees.js"
import { defaultBranches } from "./BranchName.js"
import type { Delivery } from "./Delivery.js"
import { deliveryCancelled, failedEnd, isBlocking } from "./DeliveryEnd.js"
import { type DeliveryRemote, deliveryRemote } from "./DeliveryRemote.js"
import { type DeliveryAttempt, deliveryActor, deliverySteps } from "./DeliverySteps.js"
import { DeliveryStore } from "./DeliveryStore.js"

/**
 * Gives the function that delivers a changeset as a branch: it makes the commit, looks at the remote, pushes, and looks again. A cancellation
 * is heeded until the push begins. A repetition after a push that was written down only looks, because pushing again could undo what happened
 * to the branch since.
 */
export const branchDelivery = Effect.gen(function* () {
  const { changes } = yield* Bench
  const steps = yield* deliverySteps
  const remoteOf = yield* deliveryRemote
  const cancelled = yield* deliveryCancelled
  const check = yield* makeCheck
  const materialize = yield* makeMaterialize
  const push = yield* makePush
  const observe = yield* makeObserve
  const moveAside = yield* makeMoveAside

  const look = (work: DeliveryAttempt): Effect.Effect<Looked, JobError | AttemptLost> =>
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
    const commit = yield* materialize(work)
    yield* failpoint("delivery.materialized")
    return { ...(yield* look(work)), commit }
  })

  return Effect.fnUntraced(function* (work: DeliveryAttempt): Effect.fn.Return<Completion, JobError | AttemptLost> {
    const pushed = pushedCommit(work.delivery)
    if (pushed !== undefined) return yield* observe(work, remoteOf(work.delivery, work.session), pushed)
    const ready = yield* Effect.raceFirst(prepare(work), Effect.as(work.attempt.cancelRequested, "cancelled" as const))
    if (ready === "cancelled") return { state: "cancelled", command: cancelled(work.delivery.id, deliveryActor) }
    yield* failpoint("delivery.head_seen")
    return yield* push(ready)
  })
})

/** The branch of a delivery, at the head where it was just seen. */
interface Looked {
  readonly work: DeliveryAttempt
  readonly remote: DeliveryRemote
  /** Null when the branch is not there. */
  readonly head: string | null
}

/** Fails for a changeset with an obstacle that the delivery does not allow. It is the same at each try, because it looks at sealed objects alone. */
const makeCheck = Effect.gen(function* () {
  const { changes } = yield* Bench
  const trees = yield* WorkingTrees
  const steps = yield* deliverySteps
  return Effect.fnUntraced(function* (work: DeliveryAttempt) {
    const { changeset, delivery, session, tree } = work
    yield* trees.requireOwned(session.id)
    const found = yield* changes
      .obstacles({ session: session.id, base: changeset.base_commit, tree })
      .pipe(Effect.catchTag("GitError", steps.failWith(work, "materialize")))
    const left = found.filter(({ kind }) => !delivery.allow.includes(kind))
    const gravest = left[0]?.kind
    if (gravest === undefined) return
    const ofKind = left.filter(({ kind }) => kind === gravest)
    // Loaded with the first obstacle.
    const { blockedBy } = yield* Effect.promise(() => import("./ObstacleTexts.js"))
    const message = blockedBy(gravest, ofKind)
    yield* steps.failed(work, "materialize", {
      kind: gravest,
      message,
      files: ofKind.reduce((sum, { paths }) => sum + paths.length, 0)
    })
    return yield* new JobError({ code: gravest, message, retryable: false })
  })
})

/** A commit in the git directory of the session, and the branch that it is for. */
interface Prepared extends Looked {
  readonly commit: string
}

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

/** Makes the commit of the changeset. A repeated attempt makes the same commit, because its time is that of the capture. */
const makeMaterialize = Effect.gen(function* () {
  const { changes } = yield* Bench
  const trees = yield* WorkingTrees
  const steps = yield* deliverySteps
  return Effect.fnUntraced(function* (work: DeliveryAttempt) {
    // The session may have come to this node for this delivery, and its files have not.
    yield* trees.requireOwned(work.session.id)
    return yield* changes
      .commit({
        session: work.session.id,
        tree: work.tree,
        parents: work.changeset.base_commit === null ? [] : [work.changeset.base_commit],
        message: `${work.delivery.title ?? "Changes by a coding session"}\n\nReins-Session: ${work.session.id}\nReins-Changeset: ${work.changeset.id}`,
        date: DateTime.unsafeMake(work.changeset.sealed_at ?? work.changeset.created_at)
      })
      .pipe(
        Effect.catchTag("GitError", steps.failWith(work, "materialize")),
        Effect.tap((commit) => steps.done(work, "materialize", { commit }))
      )
  })
})

/** Pushes the commit, and ends the delivery by what became of the push. */
const makePush = Effect.gen(function* () {
  const { changes } = yield* Bench
  const deliveries = yield* DeliveryStore
  const steps = yield* deliverySteps
  const observe = yield* makeObserve
  const expectation = yield* makeExpect

  return Effect.fnUntraced(function* ({
    commit,
    head,
    remote,
    work
  }: Prepared): Effect.fn.Return<Completion, JobError | AttemptLost> {
    const { delivery } = work
    const expected = yield* expectation(delivery, head)
    // A worker that was stopped for longer than its claim must not push: the delivery may have been cancelled since.
    yield* work.attempt.commit(Effect.void)
    const pushed = yield* changes
      .push(remote, { commit, ...expected })
      .pipe(
        Effect.catchTag("GitError", steps.failWith(work, "push", { branch: delivery.target_ref, head })),
        Effect.either
      )
    if (pushed._tag === "Left") {
      if (pushed.left._tag !== "JobError" || !isBlocking(pushed.left.code)) return yield* pushed.left
      const { code, message } = pushed.left
      const failure = { code, message, retryable: false }
      const blocked = deliveries.move(delivery.id, { ...failedEnd(failure), observedHead: head }, deliveryActor)
      return { state: "failed", failure, command: blocked }
    }
    yield* failpoint("delivery.pushed")
    const detail = { branch: delivery.target_ref, ...pushed.right, previous_head: head }
    yield* steps.done(work, "push", detail)
    yield* failpoint("delivery.push_recorded")
    return yield* observe(work, Effect.succeed(remote), pushed.right.head)
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

/**
 * Ends a delivery whose push is proven, with a last look at the branch. When the remote cannot be looked at any more, the branch counts as
 * seen at the commit that was pushed.
 */
const makeObserve = Effect.gen(function* () {
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
    const end = { state: "succeeded" as const, commit, observedHead: seen }
    return { state: "succeeded", command: deliveries.move(work.delivery.id, end, deliveryActor) }
  })
})

/** The commit that an earlier attempt has written down as pushed. */
const pushedCommit = ({ steps }: Delivery): string | undefined => {
  const head = steps.find(({ kind, outcome }) => kind === "push" && outcome === "succeeded")?.detail["head"]
  return typeof head === "string" ? head : undefined
}
