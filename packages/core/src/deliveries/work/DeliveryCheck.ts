import { Bench } from "@reins/machine/bench/Bench"
import { hiddenObstacles } from "@reins/machine/git/findings/Obstacles"
import { Effect } from "effect"
import { ChangesetStore } from "../../changes/ChangesetStore.js"
import { JobError } from "../../jobs/JobKind.js"
import { WorkingTrees } from "../../worktrees/WorkingTrees.js"
import { type DeliveryAttempt, deliverySteps } from "./DeliverySteps.js"

/** Fails for a changeset with an obstacle that the delivery does not allow. It is the same at each try, because it looks at what was sealed alone. */
export const makeCheck = Effect.gen(function* () {
  const { changes } = yield* Bench
  const trees = yield* WorkingTrees
  const changesets = yield* ChangesetStore
  const steps = yield* deliverySteps
  return Effect.fnUntraced(function* (work: DeliveryAttempt) {
    const { changeset, delivery, session, tree } = work
    yield* trees.requireOwned(session.id)
    const inTree = yield* changes
      .obstacles({ session: session.id, base: changeset.base_commit, tree })
      .pipe(Effect.catchTag("GitError", steps.failWith(work, "materialize")))
    const found = [...hiddenObstacles(yield* changesets.hidden(changeset.id)), ...inTree]
    const left = found.filter(({ kind }) => !delivery.allow.includes(kind))
    const gravest = left[0]?.kind
    if (gravest === undefined) return
    const ofKind = left.filter(({ kind }) => kind === gravest)
    // Loaded with the first obstacle.
    const { blockedBy } = yield* Effect.promise(() => import("../../changes/ObstacleTexts.js"))
    const message = blockedBy(gravest, ofKind)
    yield* steps.failed(work, "materialize", {
      kind: gravest,
      message,
      files: ofKind.reduce((sum, { paths }) => sum + paths.length, 0)
    })
    return yield* new JobError({ code: gravest, message, retryable: false })
  })
})
