import { DateTime, Effect } from "effect"
import { systemActor } from "../access/Access.js"
import { failpoint } from "../base/Failpoint.js"
import { fn } from "../base/Traced.js"
import type { Changeset } from "../domain/Changeset.js"
import { type Delivery, DeliveryReason } from "../domain/Delivery.js"
import { DeliveryId } from "../domain/Ids.js"
import type { JobFailure } from "../domain/Job.js"
import { Git } from "../git/Git.js"
import type { GitError } from "../git/GitError.js"
import type { Claim } from "../jobs/Claim.js"
import { type AttemptLost, type Completion, JobError, type JobKind, type RunningAttempt } from "../jobs/JobKind.js"
import { type SessionRow, SessionStore } from "../sessions/SessionStore.js"
import { WorkingTrees } from "../sessions/WorkingTrees.js"
import { Changesets } from "./Changesets.js"
import { deliveryJobKind } from "./Deliveries.js"
import { deliveryCancelled } from "./DeliveryCancelled.js"
import { deliveryError, deliveryRemote } from "./DeliveryRemote.js"
import { DeliveryStore } from "./DeliveryStore.js"

const actor = systemActor("delivery")

const deliveryOf = (claim: Claim): DeliveryId => DeliveryId.make(claim.subject.id)

/** What a person has to decide or mend. */
const blocking: ReadonlySet<string> = new Set<DeliveryReason>([
  "auth_required",
  "branch_protected",
  "remote_head_changed"
])

/** One attempt at a delivery, and everything that it needs. */
interface Work {
  readonly attempt: RunningAttempt
  readonly delivery: Delivery
  readonly changeset: Changeset
  readonly tree: string
  readonly session: SessionRow
}

/** Carries out a delivery. The push looks at the remote first, so a repetition finds its own work and does nothing twice. */
export const deliveryJob = Effect.gen(function* () {
  const deliveries = yield* DeliveryStore
  const changesets = yield* Changesets
  const sessions = yield* SessionStore
  const trees = yield* WorkingTrees
  const git = yield* Git
  const remoteOf = yield* deliveryRemote
  const cancelled = yield* deliveryCancelled

  const step = (
    { attempt, delivery }: Work,
    kind: "materialize" | "push" | "observe",
    outcome: "succeeded" | "failed",
    detail: Record<string, unknown>
  ) => attempt.commit(deliveries.addStep(delivery.id, { kind, outcome, attempt: attempt.claim.attempt, detail }, actor))

  /** Writes a failed step down, and fails. */
  const failedAs =
    (work: Work, kind: "materialize" | "push" | "observe", detail: Record<string, unknown> = {}) =>
    (error: GitError) =>
      Effect.zipRight(
        step(work, kind, "failed", { kind: error.kind, message: error.message, ...detail }),
        Effect.fail(deliveryError(error))
      )

  const blockedBy = (delivery: Delivery, failure: JobFailure, observedHead: string | null): Completion => ({
    state: "failed",
    failure,
    command: deliveries.move(delivery.id, { ...endOf(failure), observedHead }, actor)
  })

  const materialize = (work: Work) =>
    git
      .commitTree({
        gitDir: trees.paths(work.session.id).gitDir,
        tree: work.tree,
        parents: work.changeset.base_commit === null ? [] : [work.changeset.base_commit],
        message: `${work.delivery.title ?? "Changes by a coding session"}\n\nReins-Session: ${work.session.id}\nReins-Changeset: ${work.changeset.id}`,
        // The time of the capture, so that a repeated attempt makes the same commit.
        date: DateTime.unsafeMake(work.changeset.sealed_at ?? work.changeset.created_at)
      })
      .pipe(
        Effect.catchTag("GitError", failedAs(work, "materialize")),
        Effect.tap((commit) => step(work, "materialize", "succeeded", { commit }))
      )

  /**
   * Where the push may find the branch. Fast-forward: wherever it is. With a lease: where it was last seen, so that what nobody has
   * looked at is never replaced; a branch that was never seen is only moved fast-forward.
   */
  const expectation = Effect.fnUntraced(function* (delivery: Delivery, observed: string | null) {
    if (delivery.update_strategy === "fast_forward" || observed === null) {
      return { expectedHead: observed, strategy: "fast_forward" as const }
    }
    const seen = delivery.observed_head ?? (yield* deliveries.lastObserved(delivery))
    return seen === null
      ? { expectedHead: observed, strategy: "fast_forward" as const }
      : { expectedHead: seen, strategy: "force_with_lease" as const }
  })

  const push = Effect.fnUntraced(function* (
    work: Work,
    remote: Effect.Effect.Success<ReturnType<typeof remoteOf>>,
    commit: string,
    observed: string | null
  ): Effect.fn.Return<Completion, JobError | AttemptLost> {
    const { delivery } = work
    const expected = yield* expectation(delivery, observed)
    // A worker that was stopped for longer than its claim must not push what may have been cancelled since.
    yield* work.attempt.commit(Effect.void)
    const pushed = yield* git
      .push({ ...remote, commit, ...expected })
      .pipe(
        Effect.catchTag("GitError", failedAs(work, "push", { branch: delivery.target_ref, head: observed })),
        Effect.either
      )
    if (pushed._tag === "Left") {
      if (pushed.left._tag !== "JobError" || !blocking.has(pushed.left.code)) return yield* pushed.left
      const { code, message } = pushed.left
      return blockedBy(delivery, { code, message, retryable: false }, observed)
    }
    yield* failpoint("delivery.pushed")
    yield* step(work, "push", "succeeded", {
      branch: delivery.target_ref,
      head: pushed.right.head,
      pushed: pushed.right.pushed,
      previous_head: observed
    })
    yield* failpoint("delivery.push_recorded")
    return yield* observe(work, Effect.succeed(remote), pushed.right.head)
  })

  /** The end of a delivery whose push is proven. Where nobody can look any more, the branch was last seen where it was pushed to. */
  const observe = Effect.fnUntraced(function* (
    work: Work,
    remote: ReturnType<typeof remoteOf>,
    commit: string
  ): Effect.fn.Return<Completion, AttemptLost> {
    const seen = yield* Effect.flatMap(remote, git.remoteHead).pipe(
      Effect.tap((head) => step(work, "observe", "succeeded", { branch: work.delivery.target_ref, head })),
      Effect.catchTag("GitError", ({ kind, message }) =>
        Effect.as(step(work, "observe", "failed", { kind, message }), commit)
      ),
      Effect.catchTag("JobError", ({ code, message }) =>
        Effect.as(step(work, "observe", "failed", { kind: code, message }), commit)
      )
    )
    const command = deliveries.move(work.delivery.id, { state: "succeeded", commit, observedHead: seen }, actor)
    return { state: "succeeded", command }
  })

  /** A cancellation is heeded until the push begins: what is pushed cannot be taken back, and is not pushed again. */
  const branch = Effect.fnUntraced(function* (work: Work): Effect.fn.Return<Completion, JobError | AttemptLost> {
    const pushed = pushedBy(work.delivery)
    if (pushed !== undefined) return yield* observe(work, remoteOf(work.delivery, work.session), pushed)
    const ready = Effect.gen(function* () {
      const commit = yield* materialize(work)
      yield* failpoint("delivery.materialized")
      const remote = yield* remoteOf(work.delivery, work.session)
      const observed = yield* git.remoteHead(remote).pipe(Effect.catchTag("GitError", failedAs(work, "observe")))
      return { commit, remote, observed }
    })
    const found = yield* Effect.raceFirst(ready, Effect.as(work.attempt.cancelRequested, "cancelled" as const))
    if (found === "cancelled") {
      return { state: "cancelled", command: cancelled(work.delivery.id, actor) }
    }
    yield* failpoint("delivery.head_seen")
    return yield* push(work, found.remote, found.commit, found.observed)
  })

  const patch = Effect.fnUntraced(function* (work: Work): Effect.fn.Return<Completion, JobError | AttemptLost> {
    const text = yield* git
      .patch({
        gitDir: trees.paths(work.session.id).gitDir,
        base: work.changeset.base_commit,
        tree: work.tree
      })
      .pipe(Effect.catchTag("GitError", failedAs(work, "materialize")))
    yield* step(work, "materialize", "succeeded", { bytes: Buffer.byteLength(text) })
    return {
      state: "succeeded",
      command: deliveries.move(work.delivery.id, { state: "succeeded", patch: text }, actor)
    }
  })

  const begin = (attempt: RunningAttempt) =>
    attempt.commit(
      Effect.gen(function* () {
        const id = deliveryOf(attempt.claim)
        if ((yield* deliveries.find(id))?.state === "pending") {
          yield* deliveries.move(id, { state: "executing" }, actor)
        }
        return yield* deliveries.find(id)
      })
    )

  return {
    kind: deliveryJobKind,
    concurrency: 4,
    // Longer than all that git may take for it, so that no push is broken off in the middle.
    deadlineMs: 60 * 60_000,
    run: fn("deliveryJob.run")(function* (attempt) {
      const delivery = yield* begin(attempt)
      const changeset = delivery === undefined ? undefined : yield* changesets.find(delivery.changeset_id)
      const session = delivery === undefined ? undefined : yield* sessions.find(delivery.session_id)
      if (
        delivery?.state !== "executing" ||
        changeset === undefined ||
        session === undefined ||
        changeset.tree === null
      ) {
        return { state: "succeeded" as const, command: Effect.void }
      }
      if (changeset.empty) {
        return yield* new JobError({
          code: "empty_changeset",
          message: "The changeset is empty: there is nothing to deliver.",
          retryable: false
        })
      }
      yield* failpoint("delivery.begun")
      const work = { attempt, delivery, changeset, session, tree: changeset.tree }
      return yield* delivery.transport === "patch" ? patch(work) : branch(work)
    }),
    failed: fn("deliveryJob.failed")(function* (claim, failure) {
      const delivery = yield* deliveries.find(deliveryOf(claim))
      if (delivery?.state === "pending") yield* deliveries.move(delivery.id, { state: "executing" }, actor)
      else if (delivery?.state !== "executing") return
      yield* deliveries.move(delivery.id, endOf(failure), actor)
    }),
    lost: () => Effect.succeed({ next: "retry" as const, command: Effect.void })
  } satisfies JobKind
})

/** Where an attempt has written down that it pushed: whatever became of the branch since is not its business. */
const pushedBy = ({ steps }: Delivery): string | undefined => {
  const head = steps.find(({ kind, outcome }) => kind === "push" && outcome === "succeeded")?.detail["head"]
  return typeof head === "string" ? head : undefined
}

const isReason = (code: string): code is DeliveryReason => DeliveryReason.literals.some((reason) => reason === code)

const endOf = (failure: JobFailure) => ({
  state: blocking.has(failure.code) ? ("blocked" as const) : ("failed" as const),
  reasonMessage: failure.message,
  ...(isReason(failure.code) && { reason: failure.code })
})
