import { failpoint } from "@reins/base/base/Failpoint"
import { fn } from "@reins/base/base/Traced"
import { Bench } from "@reins/machine/bench/Bench"
import { Array as Arr, Effect } from "effect"
import { ChangesetStore } from "../changes/ChangesetStore.js"
import type { EarlierDelivery } from "../deliveries/DeliveryRows.js"
import { DeliveryStore } from "../deliveries/DeliveryStore.js"
import { deliveryError, deliveryRemote } from "../deliveries/work/DeliveryRemote.js"
import type { JobFailure } from "../jobs/Job.js"
import type { JobWork, RunningAttempt } from "../jobs/JobKind.js"
import { WorkingTrees } from "../worktrees/WorkingTrees.js"
import type { CareReason } from "./Care.js"
import { makeDeliver } from "./Delivering.js"
import { makeUndelivered } from "./DeliverJob.js"
import { followRows } from "./FollowRows.js"
import { makeLeftMarks } from "./Merging.js"
import { touchesProtected } from "./Paths.js"
import { type CareWork, makeEndWork, makeFindWork } from "./Work.js"

const done = { state: "succeeded", command: Effect.void } as const

/** Judges what a turn has made that care did not begin, and has it delivered on top of the head, or proposed. */
export const followWork = Effect.gen(function* () {
  const find = yield* makeFindWork
  const end = yield* makeEndWork
  const changesets = yield* ChangesetStore
  const deliveries = yield* DeliveryStore
  const { awaitsPerson } = yield* followRows
  const undelivered = yield* makeUndelivered
  const deliver = yield* makeDeliver
  const isProtected = yield* makeIsProtected
  const leftMarks = yield* makeLeftMarks

  const judge = Effect.fnUntraced(function* (attempt: RunningAttempt, work: CareWork) {
    const { attention, request, session } = work
    const made = attention.changeset_id === null ? undefined : yield* changesets.find(attention.changeset_id)
    const pushed = yield* deliveries.pushedTo(session.id, request.head_branch)
    if (made === undefined || made.tree === null || !Arr.isNonEmptyReadonlyArray(pushed))
      return yield* attempt.commit(end(attention.id, "branch_gone"))
    const [last] = pushed
    // Somebody has delivered newer work, which holds this one.
    const isPast = pushed.some(({ delivery }) => delivery.changeset_id > made.id)
    if (isPast || made.tree === last.tree) return yield* attempt.commit(end(attention.id, undefined))
    if ((yield* leftMarks({ ...work, attention: { ...attention, head_sha: last.tree } }, made.tree)).length > 0)
      return yield* attempt.commit(end(attention.id, "merge_conflict"))
    const mustBeSeen = yield* isProtected(work, made.tree, pushed)
    if (mustBeSeen || (yield* awaitsPerson(request.id, last.delivery.changeset_id)))
      return yield* attempt.commit(undelivered.propose(attention.id, made, mustBeSeen))
    yield* failpoint("care.follow_judged")
    yield* deliver(attempt, work, made)
    yield* failpoint("care.followed")
  })

  return {
    run: fn("followJob.run")(function* (attempt) {
      const work = yield* find(attempt.claim.subject.id, "delivering")
      if (work !== undefined && work.attention.delivery_id === null) yield* judge(attempt, work)
      return done
    }),
    failed: ({ subject }, failure) => end(subject.id, reasonOf(failure)),
    lost: () => Effect.succeed({ next: "retry" as const, command: Effect.void })
  } satisfies JobWork
})

const reasonOf = ({ code }: JobFailure): CareReason =>
  code === "auth_required" || code === "branch_gone" ? code : "push_refused"

/**
 * Gives the function that is true when a commit of a tree would change protected files of the branch. The files of the session may hold those which
 * others have pushed, so the branch is asked where the session differs.
 */
const makeIsProtected = Effect.gen(function* () {
  const { changes } = yield* Bench
  const trees = yield* WorkingTrees
  const remoteOf = yield* deliveryRemote

  const touches = ({ row, session }: CareWork, base: string, tree: string) =>
    changes.diff({ session: session.id, base, tree }, {}).pipe(
      Effect.mapError(deliveryError),
      Effect.flatMap(({ files }) =>
        touchesProtected(
          files.flatMap(({ old_path, path }) => [path, ...(old_path === undefined ? [] : [old_path])]),
          row
        )
      )
    )

  return Effect.fnUntraced(function* (
    work: CareWork,
    tree: string,
    pushed: Arr.NonEmptyReadonlyArray<EarlierDelivery>
  ) {
    yield* trees.requireOwned(work.session.id)
    const [last] = pushed
    if (!(yield* touches(work, last.tree, tree))) return false
    const remote = yield* remoteOf(last.delivery, work.session)
    const head = yield* changes.head(remote).pipe(Effect.mapError(deliveryError))
    if (head === null) return true
    const earlier = Arr.map(pushed, (each) => ({ commit: each.delivery.commit ?? "", tree: each.tree }))
    const joined = yield* changes.join(remote, { head, tree, own: [], earlier }).pipe(Effect.mapError(deliveryError))
    return joined.state !== "merged" || (yield* touches(work, head, joined.tree))
  })
})
