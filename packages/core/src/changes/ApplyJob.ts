import { Effect } from "effect"
import { systemActor } from "../access/Access.js"
import { failpoint } from "../base/Failpoint.js"
import { fn } from "../base/Traced.js"
import { Bench } from "../bench/Bench.js"
import type { SnapshotError } from "../bench/snapshots/TreeSnapshots.js"
import { ApplicationId } from "../domain/Ids.js"
import type { GitError } from "../git/GitError.js"
import type { Claim } from "../jobs/Claim.js"
import { JobError, type JobKind, type RunningAttempt } from "../jobs/JobKind.js"
import { SessionStore } from "../sessions/SessionStore.js"
import { Snapshots } from "../worktrees/snapshots/Snapshots.js"
import { WorkingTrees } from "../worktrees/WorkingTrees.js"
import { type Application, ApplicationReason } from "./Application.js"
import { ApplicationStore } from "./ApplicationStore.js"
import { applyJobKind } from "./Applications.js"
import { ChangesetStore } from "./ChangesetStore.js"

const actor = systemActor("applications")

const applicationOf = (claim: Claim): ApplicationId => ApplicationId.make(claim.subject.id)

/** An application under way, with the tree that it brings and the commit that the tree is based on. */
interface Work {
  readonly attempt: RunningAttempt
  readonly application: Application
  readonly base: string | null
  readonly tree: string
}

/**
 * Applies a changeset while no turn of the target runs. A repetition goes on where a lost attempt stopped: a file that the target already
 * holds as the changeset has it is no conflict and is not written again.
 */
export const applyJob = Effect.gen(function* () {
  const applications = yield* ApplicationStore
  const sessions = yield* SessionStore
  const trees = yield* WorkingTrees
  const snapshots = yield* Snapshots
  const begin = yield* makeBegin
  const apply = yield* makeApply

  return {
    kind: applyJobKind,
    concurrency: 4,
    deadlineMs: 10 * 60_000,
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
      const { changed, conflicts, state } = yield* trees.exclusive(target_session_id, apply(work))
      yield* failpoint("application.written")
      const moved = applications.move(id, { state, changed, conflicts }, actor)
      return { state: "succeeded" as const, command: Effect.zipRight(moved, snapshots.changed(target_session_id)) }
    }),
    failed: fn("applyJob.failed")(function* (claim, failure) {
      const found = yield* applications.find(applicationOf(claim))
      if (found?.state === "pending") yield* applications.move(found.id, { state: "executing" }, actor)
      else if (found?.state !== "executing") return
      const reason = isReason(failure.code) ? failure.code : "internal_error"
      yield* applications.move(found.id, { state: "failed", reason, reasonMessage: failure.message }, actor)
    }),
    lost: () => Effect.succeed({ next: "retry" as const, command: Effect.void })
  } satisfies JobKind
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
    const work: Work = { attempt, application: started, base: changeset.base_commit, tree: changeset.tree }
    return work
  })
})

/** Applies the tree to the target, which nobody else uses meanwhile. */
const makeApply = Effect.gen(function* () {
  const applications = yield* ApplicationStore
  const sessions = yield* SessionStore
  const trees = yield* WorkingTrees
  const { changes } = yield* Bench
  return Effect.fnUntraced(function* ({ application, attempt, base, tree }: Work) {
    // Read here, where neither a turn nor a release can change it any more.
    const target = yield* sessions.find(application.target_session_id)
    if (target?.tree.state !== "ready") return yield* treeGone
    const objects = yield* Effect.mapError(trees.objectsOf(application.session_id), sourceMissing)
    return yield* changes
      .apply(
        {
          source: { objects, base, tree },
          target: { session: target.id, base: target.tree.base_commit },
          strategy: application.strategy,
          dryRun: application.dry_run
        },
        { planned: (paths) => attempt.commit(applications.plan(application.id, paths)) }
      )
      .pipe(Effect.catchTag("GitError", (error) => Effect.fail(jobErrorOf(error))))
  }, Effect.scoped)
})

/** Another node has the session that made the changeset, and its snapshot could not be had. */
const sourceMissing = ({ message, retryable }: SnapshotError): JobError =>
  new JobError({ code: "executor_unavailable", message, retryable })

const jobErrorOf = ({ kind, message }: GitError): JobError =>
  new JobError({ code: kind === "timeout" ? kind : "internal_error", message, retryable: kind === "timeout" })

const turnBegan = new JobError({
  code: "turn_active",
  message: "A turn of the target session began first. Apply the changeset again when it has ended.",
  retryable: true
})

const treeGone = new JobError({
  code: "executor_unavailable",
  message: "The workspace of the target session is gone. Choose another target.",
  retryable: false
})

const isReason = (code: string): code is ApplicationReason =>
  ApplicationReason.literals.some((reason) => reason === code)
