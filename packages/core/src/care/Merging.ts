import { failpoint } from "@reins/base/base/Failpoint"
import { Bench } from "@reins/machine/bench/Bench"
import { Effect } from "effect"
import type { BranchMerge } from "../deliveries/DeliveryRows.js"
import { type DeliveryRemote, deliveryError } from "../deliveries/work/DeliveryRemote.js"
import type { RunningAttempt } from "../jobs/JobKind.js"
import { Database } from "../store/Database.js"
import type { AttentionCause } from "./Care.js"
import { type AttentionRow, CareStore } from "./CareStore.js"
import { conflictWith } from "./Decision.js"
import type { CareWork } from "./Work.js"

/** The base branch that was merged into a head. The tree has the marks of its conflicts. */
export interface BaseMerge {
  readonly tree: string
  readonly headTree: string
  readonly conflicts: ReadonlyArray<string>
}

/** True for an attention to a conflict with the base branch. */
export const isAboutConflict = ({ causes }: Pick<AttentionRow, "causes">): boolean =>
  (JSON.parse(causes) as ReadonlyArray<AttentionCause>).some(({ kind }) => kind === "conflict")

/** True for an attention to a conflict with a branch that is the base no more. */
export const isOtherBase = ({ attention, request }: Pick<CareWork, "attention" | "request">): boolean =>
  isAboutConflict(attention) && attention.fingerprint !== conflictWith(request.base_branch)

/** The merge that the delivery of an attention makes; undefined for an ordinary commit. */
export const mergeOf = ({ base_sha, head_sha, head_tree }: AttentionRow): BranchMerge | undefined =>
  base_sha === null || head_tree === null ? undefined : { other: base_sha, head: head_sha, tree: head_tree }

/**
 * Gives the function that merges the base branch into the head of an attention, as a tree. The commit of the base is written down before, so that a
 * repetition merges the same one. `clean` when git finds no conflict.
 */
export const makeMergeBase = Effect.gen(function* () {
  const { changes } = yield* Bench
  const store = yield* CareStore
  return Effect.fnUntraced(function* (
    attempt: RunningAttempt,
    { attention, request }: CareWork,
    remote: DeliveryRemote
  ) {
    const other =
      attention.base_sha ??
      (yield* changes.head({ ...remote, branch: request.base_branch }).pipe(Effect.mapError(deliveryError)))
    if (other === null) return "branch_gone" as const
    const merged = yield* changes
      .merge(remote, { head: attention.head_sha, other })
      .pipe(Effect.mapError(deliveryError))
    if (merged.conflicts.length === 0) return "clean" as const
    const columns = { base_sha: other, head_tree: merged.headTree }
    yield* attempt.commit(store.amend(attention, columns))
    yield* failpoint("care.base_kept")
    const base: BaseMerge = merged
    return base
  })
})

/**
 * Gives the function that finds marks of conflicts in what a turn has made. They count too after an earlier turn on a conflict that was not delivered,
 * because its files stay.
 */
export const makeLeftMarks = Effect.gen(function* () {
  const { changes } = yield* Bench
  const { first, sql } = yield* Database
  return Effect.fnUntraced(function* ({ attention, session }: CareWork, tree: string) {
    const { base_sha, head_sha: head, merge_request_id } = attention
    const earlier = yield* first(sql<{ id: string }>`select id from attentions
      where merge_request_id = ${merge_request_id} and base_sha is not null limit 1`)
    if (earlier === undefined) return []
    return yield* changes
      .leftMarks({ session: session.id, tree, head, other: base_sha ?? head })
      .pipe(Effect.mapError(deliveryError))
  })
})
