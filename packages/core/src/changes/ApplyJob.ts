import { Effect } from "effect"
import { systemActor } from "../access/Access.js"
import { failpoint } from "../base/Failpoint.js"
import { fn } from "../base/Traced.js"
import { type Application, ApplicationReason } from "../domain/Application.js"
import type { Changeset } from "../domain/Changeset.js"
import { ApplicationId } from "../domain/Ids.js"
import { Git } from "../git/Git.js"
import type { Claim } from "../jobs/Claim.js"
import { JobError, type JobKind, type RunningAttempt } from "../jobs/JobKind.js"
import { SessionStore } from "../sessions/SessionStore.js"
import { WorkingTrees } from "../sessions/WorkingTrees.js"
import { Applications, applyJobKind } from "./Applications.js"
import { Changesets } from "./Changesets.js"

const actor = systemActor("applications")

const applicationOf = (claim: Claim): ApplicationId => ApplicationId.make(claim.subject.id)

const isReason = (code: string): code is ApplicationReason =>
  ApplicationReason.literals.some((reason) => reason === code)

/**
 * Applies a changeset while no turn of the target runs. A repetition after a lost attempt goes on where that one stopped: what the
 * target already holds as the changeset has it is no conflict and is not written again.
 */
export const applyJob = Effect.gen(function* () {
  const applications = yield* Applications
  const changesets = yield* Changesets
  const sessions = yield* SessionStore
  const trees = yield* WorkingTrees
  const git = yield* Git

  const begin = (attempt: RunningAttempt) =>
    attempt.commit(
      Effect.gen(function* () {
        const id = applicationOf(attempt.claim)
        if ((yield* applications.find(id))?.state === "pending") {
          yield* applications.move(id, { state: "executing" }, actor)
        }
        return yield* applications.find(id)
      })
    )

  const apply = Effect.fnUntraced(function* (
    attempt: RunningAttempt,
    application: Application,
    changeset: Changeset,
    tree: string
  ) {
    // Asked for here, where neither a turn nor a release can change it any more.
    const target = yield* sessions.find(application.target_session_id)
    if (target?.workspace_state !== "ready") {
      return yield* new JobError({
        code: "executor_unavailable",
        message: "The workspace of the target session is gone. Choose another target.",
        retryable: false
      })
    }
    const paths = trees.paths(target.id)
    return yield* git
      .applyTree({
        source: { gitDir: trees.paths(changeset.session_id).gitDir, base: changeset.base_commit, tree },
        target: { gitDir: paths.gitDir, workTree: paths.workTree, base: target.base_commit },
        strategy: application.strategy,
        dryRun: application.dry_run,
        planned: (paths) => attempt.commit(applications.plan(application.id, paths))
      })
      .pipe(
        Effect.catchTag("GitError", ({ kind, message }) =>
          Effect.fail(
            new JobError({ code: kind === "timeout" ? kind : "internal_error", message, retryable: kind === "timeout" })
          )
        )
      )
  })

  return {
    kind: applyJobKind,
    concurrency: 4,
    deadlineMs: 10 * 60_000,
    run: fn("applyJob.run")(function* (attempt) {
      const application = yield* begin(attempt)
      const changeset = application === undefined ? undefined : yield* changesets.find(application.changeset_id)
      if (application?.state !== "executing" || changeset === undefined || changeset.tree === null) {
        return { state: "succeeded" as const, command: Effect.void }
      }
      const target = yield* sessions.find(application.target_session_id)
      // A turn that has only been prepared may still wait for the workspace.
      if (target !== undefined && target.active_turn_id !== null && target.active_turn_state !== "preparing") {
        return yield* new JobError({
          code: "turn_active",
          message: "A turn of the target session began first. Apply the changeset again when it has ended.",
          retryable: true
        })
      }
      yield* failpoint("application.begun")
      const { changed, conflicts, state } = yield* trees.exclusive(
        application.target_session_id,
        apply(attempt, application, changeset, changeset.tree)
      )
      yield* failpoint("application.written")
      return {
        state: "succeeded" as const,
        command: applications.move(application.id, { state, changed, conflicts }, actor)
      }
    }),
    failed: fn("applyJob.failed")(function* (claim, failure) {
      const application = yield* applications.find(applicationOf(claim))
      if (application?.state === "pending") yield* applications.move(application.id, { state: "executing" }, actor)
      else if (application?.state !== "executing") return
      yield* applications.move(
        application.id,
        {
          state: "failed",
          reason: isReason(failure.code) ? failure.code : "internal_error",
          reasonMessage: failure.message
        },
        actor
      )
    }),
    lost: () => Effect.succeed({ next: "retry" as const, command: Effect.void })
  } satisfies JobKind
})
