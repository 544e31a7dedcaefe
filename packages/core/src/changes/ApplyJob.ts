import { failpoint } from "@reins/base/base/Failpoint"
import { fn } from "@reins/base/base/Traced"
import { ApplicationId } from "@reins/base/domain/Ids"
import { Effect } from "effect"
import { systemActor } from "../access/Access.js"
import type { Claim } from "../jobs/Claim.js"
import { JobError, type JobWork, type RunningAttempt } from "../jobs/JobKind.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import { Snapshots } from "../worktrees/snapshots/Snapshots.js"
import { WorkingTrees } from "../worktrees/WorkingTrees.js"
import { ApplicationStore } from "./ApplicationStore.js"
import { type ApplyWork, endedBy, makeApply } from "./ApplyWork.js"
import { ChangesetStore } from "./ChangesetStore.js"

const actor = systemActor("applications")

const applicationOf = (claim: Claim): ApplicationId => ApplicationId.make(claim.subject.id)

/**
 * Applies a changeset while no turn of the target runs. A repetition goes on where a lost attempt stopped: a file that the target already
 * holds as the changeset has it is no conflict and is not written again.
 */
export const applyWork = Effect.gen(function* () {
  const applications = yield* ApplicationStore
  const sessions = yield* SessionStore
  const trees = yield* WorkingTrees
  const snapshots = yield* Snapshots
  const begin = yield* makeBegin
  const apply = yield* makeApply

  return {
    run: fn("applyJob.run")(function* (attempt) {
      const work = yield* begin(attempt)
      if (work === undefined) return { state: "succeeded" as const, command: Effect.void }
      const { id, target_session_id } = work.application
      const target = yield* sessions.find(target_session_id)
      // A turn that is still being prepared may wait for the workspace that this job uses, so it is no reason to stop.
      if (target !== undefined && target.turns.active !== null && target.turns.active.state !== "preparing") {
        return yield* turnBegan
      }
      yield* failpoint("application.begun")
      const { changed, conflicts, state } = yield* trees.exclusive(target_session_id, apply(work, attempt.commit))
      yield* failpoint("application.written")
      const moved = applications.move(id, { state, changed, conflicts }, actor)
      return { state: "succeeded" as const, command: Effect.zipRight(moved, snapshots.changed(target_session_id)) }
    }),
    failed: fn("applyJob.failed")(function* (claim, failure) {
      const found = yield* applications.find(applicationOf(claim))
      if (found?.state === "pending") yield* applications.move(found.id, { state: "executing" }, actor)
      else if (found?.state !== "executing") return
      yield* applications.move(found.id, endedBy(failure), actor)
    }),
    lost: () => Effect.succeed({ next: "retry" as const, command: Effect.void })
  } satisfies JobWork
})

/** Marks the application of an attempt as executing. Gives nothing when there is none that could be applied. */
const makeBegin = Effect.gen(function* () {
  const applications = yield* ApplicationStore
  const changesets = yield* ChangesetStore
  return Effect.fnUntraced(function* (attempt: RunningAttempt) {
    const id = applicationOf(attempt.claim)
    const started = yield* attempt.commit(
      Effect.gen(function* () {
        if ((yield* applications.find(id))?.state === "pending") {
          yield* applications.move(id, { state: "executing" }, actor)
        }
        return yield* applications.find(id)
      })
    )
    const changeset = started === undefined ? undefined : yield* changesets.find(started.changeset_id)
    if (started?.state !== "executing" || changeset === undefined || changeset.tree === null) return undefined
    const work: ApplyWork = { application: started, base: changeset.base_commit, tree: changeset.tree }
    return work
  })
})

const turnBegan = new JobError({
  code: "turn_active",
  message: "A turn of the target session began first. Apply the changeset again when it has ended.",
  retryable: true
})
