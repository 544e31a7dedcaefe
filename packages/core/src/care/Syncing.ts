import { Bench } from "@reins/machine/bench/Bench"
import { Array as Arr, Effect } from "effect"
import { DeliveryStore } from "../deliveries/DeliveryStore.js"
import { deliveryError, deliveryRemote } from "../deliveries/work/DeliveryRemote.js"
import { JobError, type RunningAttempt } from "../jobs/JobKind.js"
import type { SessionRow } from "../sessions/rows/SessionRow.js"
import { WorkingTrees } from "../worktrees/WorkingTrees.js"
import { policyOf } from "./CareStore.js"
import { isAboutConflict, makeMergeBase } from "./Merging.js"
import type { CareWork } from "./Work.js"

/** The files of a session as they are on the head. */
export interface Synced {
  readonly tree: string
  /** True when commits of others were brought in. */
  readonly isSynced: boolean
  /** The paths of a conflict with the base branch, which is in the files with its marks. Empty without one. */
  readonly conflicts: ReadonlyArray<string>
}

/**
 * Gives the function that brings the commits on the head of a branch into the files of its session. For a conflict it brings the base branch too. `moved` when
 * the head is another one than that of the attention, `clean` when there is no conflict. A repetition finds the files as they are to be.
 */
export const makeSync = Effect.gen(function* () {
  const { changes } = yield* Bench
  const deliveries = yield* DeliveryStore
  const remoteOf = yield* deliveryRemote
  const bring = yield* makeBring
  const mergeBase = yield* makeMergeBase

  return Effect.fnUntraced(function* (attempt: RunningAttempt, work: CareWork) {
    const { attention, request, session } = work
    const pushed = yield* deliveries.pushedTo(session.id, request.head_branch)
    if (!Arr.isNonEmptyReadonlyArray(pushed)) return "branch_gone" as const
    const [{ delivery, tree }] = pushed
    const remote = yield* remoteOf(delivery, session)
    const head = yield* changes.head(remote).pipe(Effect.mapError(deliveryError))
    if (head === null) return "branch_gone" as const
    if (head !== attention.head_sha) return "moved" as const
    const earlier = Arr.map(pushed, ({ delivery, tree }) => ({ commit: delivery.commit ?? "", tree }))
    const joined = yield* changes.join(remote, { head, tree, own: [], earlier }).pipe(Effect.mapError(deliveryError))
    if (joined.state !== "merged") return "merge_conflict" as const
    const base = isAboutConflict(attention) ? yield* mergeBase(attempt, work, remote) : undefined
    if (typeof base === "string") return base
    // It is proved, and nobody wants a turn for it.
    if (base !== undefined && policyOf(work.row).conflicts === "off") return "merge_conflict" as const
    const synced: Synced = {
      tree: base?.tree ?? joined.tree,
      isSynced: joined.tree !== tree,
      conflicts: base?.conflicts ?? []
    }
    if (synced.tree === tree) return synced
    return (yield* bring(session, tree, synced.tree)) ? synced : ("merge_conflict" as const)
  })
})

/** Gives the function that brings what two trees differ in into the files of a session. False when somebody has changed the same lines there. */
const makeBring = Effect.gen(function* () {
  const { changes } = yield* Bench
  const trees = yield* WorkingTrees
  return Effect.fnUntraced(function* ({ id }: SessionRow, base: string, tree: string) {
    const made = yield* trees.make(id).pipe(Effect.mapError(deliveryError))
    const objects = yield* trees
      .objectsOf(id)
      .pipe(
        Effect.mapError(({ message, retryable }) => new JobError({ code: "executor_unavailable", message, retryable }))
      )
    const order = {
      source: { objects, base, tree },
      target: { session: id, base: made.tree.base_commit },
      strategy: "three_way" as const,
      dryRun: false
    }
    const applied = yield* trees
      .exclusive(id, changes.apply(order, { planned: () => Effect.void }))
      .pipe(Effect.mapError(deliveryError))
    return applied.state === "applied"
  }, Effect.scoped)
})
