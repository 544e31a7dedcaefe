import { Bench } from "@reins/machine/bench/Bench"
import { Array as Arr, Effect } from "effect"
import { type AttemptLost, type Completion, JobError } from "../../jobs/JobKind.js"
import { deliveryCancelled } from "../DeliveryEnd.js"
import type { BranchMerge } from "../DeliveryRows.js"
import { DeliveryStore } from "../DeliveryStore.js"
import { type MadeCommit, madeCommits } from "../MadeCommits.js"
import { makeCheck } from "./DeliveryCheck.js"
import { makeMaterialize } from "./DeliveryCommit.js"
import { makeBlock, makeObserve, makePush, type SeenBranch } from "./DeliveryPush.js"
import { deliveryRemote } from "./DeliveryRemote.js"
import { type DeliveryAttempt, deliveryActor, deliverySteps } from "./DeliverySteps.js"

/** So many pushes in a row may find that somebody else was faster. */
const maxTries = 3

/** The result of a look at the branch: a commit to push, one that is there, or the reason why there is none. */
type Outlook = SeenBranch & {
  readonly made?: MadeCommit
  readonly contained?: string
  readonly refused?: { readonly error: JobError; readonly conflicts: ReadonlyArray<string> }
}

/**
 * Gives the function that delivers a changeset as one commit on top of the head of a branch. The commits of people stay below it: it merges
 * their files with those of the changeset, and only ever moves the branch forward. A branch that moves meanwhile is looked at again.
 */
export const ontoHead = Effect.gen(function* () {
  const cancelled = yield* deliveryCancelled
  const check = yield* makeCheck
  const prepare = yield* makePrepare
  const push = yield* makePush
  const block = yield* makeBlock
  const observe = yield* makeObserve

  const attempt = Effect.fnUntraced(function* (
    work: DeliveryAttempt,
    tries: number
  ): Effect.fn.Return<Completion, JobError | AttemptLost> {
    const outlook = yield* Effect.raceFirst(
      Effect.zipRight(tries === 1 ? check(work) : Effect.void, prepare(work)),
      Effect.as(work.attempt.cancelRequested, "cancelled" as const)
    )
    if (outlook === "cancelled") return { state: "cancelled", command: cancelled(work.delivery.id, deliveryActor) }
    const { contained, made, refused, remote } = outlook
    if (contained !== undefined) return yield* observe(work, Effect.succeed(remote), contained)
    if (refused !== undefined) return yield* block(outlook, refused.error, refused.conflicts)
    if (made === undefined) return yield* Effect.dieMessage("a look at a branch without a result")
    const pushed = yield* Effect.either(push({ ...outlook, made }))
    if (pushed._tag === "Right") return yield* observe(work, Effect.succeed(remote), pushed.right)
    if (pushed.left._tag === "AttemptLost") return yield* pushed.left
    if (pushed.left.code !== "remote_head_changed") return yield* block(outlook, pushed.left)
    return tries < maxTries ? yield* attempt(work, tries + 1) : yield* block(outlook, keepsMoving)
  })

  return (work: DeliveryAttempt) => attempt(work, 1)
})

/** Gives the function that looks at the branch and makes the commit for its head. */
const makePrepare = Effect.gen(function* () {
  const { changes } = yield* Bench
  const deliveries = yield* DeliveryStore
  const steps = yield* deliverySteps
  const remoteOf = yield* deliveryRemote
  const materialize = yield* makeMaterialize
  const join = yield* makeJoin

  return Effect.fnUntraced(function* (work: DeliveryAttempt): Effect.fn.Return<Outlook, JobError | AttemptLost> {
    const remote = yield* remoteOf(work.delivery, work.session)
    const head = yield* changes.head(remote).pipe(Effect.catchTag("GitError", steps.failWith(work, "observe")))
    const seen = { work, remote, head }
    if (head === null) return { ...seen, refused: { error: branchGone(work.delivery.target_ref), conflicts: [] } }
    const own = madeCommits((yield* deliveries.find(work.delivery.id)) ?? work.delivery)
    const merges = yield* deliveries.mergeOf(work.delivery.id)
    const joined = yield* join({ ...seen, head }, own, merges)
    if (joined.state === "contained") {
      // An earlier attempt died between its push and the step that tells of it.
      const { commit } = joined
      yield* steps.done(work, "push", {
        branch: work.delivery.target_ref,
        head: commit,
        pushed: false,
        previous_head: head
      })
      return { ...seen, contained: commit }
    }
    if (joined.state === "conflicted") {
      const { paths } = joined
      // Loaded with the first conflict.
      const { conflictText } = yield* Effect.promise(() => import("../../changes/ObstacleTexts.js"))
      const error = new JobError({ code: "merge_conflict", message: conflictText(paths), retryable: false })
      yield* steps.failed(work, "materialize", { kind: error.code, message: error.message, head, files: paths.length })
      return { ...seen, refused: { error, conflicts: paths } }
    }
    // A merge may keep the files of the head and still end a conflict.
    if (joined.isSame && merges === undefined) return yield* nothingNew
    // The session may have come to another node since the other commit was fetched.
    if (merges !== undefined)
      yield* changes
        .merge(remote, { head, other: merges.other })
        .pipe(Effect.catchTag("GitError", steps.failWith(work, "observe")))
    const parents = [head, ...(merges === undefined ? [] : [merges.other])]
    const made = yield* materialize(work, { tree: joined.tree, parents })
    return { ...seen, made }
  })
})

/** Gives the function that merges the tree of a delivery into the head of its branch. */
const makeJoin = Effect.gen(function* () {
  const { changes } = yield* Bench
  const deliveries = yield* DeliveryStore
  const steps = yield* deliverySteps
  return Effect.fnUntraced(function* (
    { head, remote, work }: SeenBranch & { readonly head: string },
    own: ReadonlyArray<MadeCommit>,
    merges: BranchMerge | undefined
  ) {
    const found = yield* deliveries.earlier(work.delivery)
    // Those that succeeded come first: they say what was on the branch when somebody has replaced its commits.
    const pushed = [...found.filter(isDone), ...found.filter((each) => !isDone(each))].flatMap(({ delivery, tree }) => {
      const commits = [...(delivery.commit === null ? [] : [delivery.commit]), ...madeCommits(delivery).map(commitOf)]
      return [...new Set(commits)].map((commit) => ({ commit, tree }))
    })
    const known = [...(merges === undefined ? [] : [{ commit: merges.head, tree: merges.tree }]), ...pushed]
    if (!Arr.isNonEmptyReadonlyArray(known)) return yield* branchGone(work.delivery.target_ref)
    return yield* changes
      .join(remote, { head, tree: work.tree, own: own.map(commitOf), earlier: known })
      .pipe(Effect.catchTag("GitError", steps.failWith(work, "observe")))
  })
})

const isDone = ({ delivery }: { readonly delivery: DeliveryAttempt["delivery"] }): boolean =>
  delivery.state === "succeeded"

const commitOf = ({ commit }: MadeCommit): string => commit

const branchGone = (branch: string): JobError =>
  new JobError({
    code: "branch_gone",
    message: `The remote has no branch ${JSON.stringify(branch)} any more: deliver the changeset with onto "base", or push the branch again.`,
    retryable: false
  })

const keepsMoving = new JobError({
  code: "remote_head_changed",
  message: `Other commits reached the branch during each of ${maxTries} tries: retry the delivery when it is quiet.`,
  retryable: false
})

const nothingNew = new JobError({
  code: "empty_changeset",
  message: "The branch has all that the changeset changes: there is nothing to deliver.",
  retryable: false
})
