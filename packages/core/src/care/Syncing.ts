import { Array as Arr, Effect } from "effect"
import { Bench } from "../bench/Bench.js"
import { deliveryError, deliveryRemote } from "../changes/DeliveryRemote.js"
import { DeliveryStore } from "../changes/DeliveryStore.js"
import { JobError } from "../jobs/JobKind.js"
import type { SessionRow } from "../sessions/SessionRow.js"
import { WorkingTrees } from "../worktrees/WorkingTrees.js"
import type { CareWork } from "./Work.js"

/** The files of a session as they are on the head. */
export interface Synced {
  readonly tree: string
  /** True when commits of others were brought in. */
  readonly isSynced: boolean
}

/**
 * Gives the function that brings the commits on the head of a branch into the files of its session. `moved` when the head is another one than that of
 * the attention. A repetition finds the files as they are to be.
 */
export const makeSync = Effect.gen(function* () {
  const { changes } = yield* Bench
  const deliveries = yield* DeliveryStore
  const remoteOf = yield* deliveryRemote
  const bring = yield* makeBring

  return Effect.fnUntraced(function* ({ attention, request, session }: CareWork) {
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
    const synced: Synced = { tree: joined.tree, isSynced: joined.tree !== tree }
    if (!synced.isSynced) return synced
    return (yield* bring(session, tree, joined.tree)) ? synced : ("merge_conflict" as const)
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
