import { Bench } from "@reins/machine/bench/Bench"
import type { SnapshotError } from "@reins/machine/bench/snapshots/TreeSnapshots"
import { GitError } from "@reins/machine/repository/run/GitError"
import { Effect } from "effect"
import { JobError } from "../jobs/JobKind.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import type { Commit } from "../store/Commit.js"
import { WorkingTrees } from "../worktrees/WorkingTrees.js"
import { type Application, ApplicationReason } from "./Application.js"
import { type ApplicationChange, ApplicationStore } from "./ApplicationStore.js"

/** An application under way, with the tree that it brings and the commit that the tree is based on. */
export interface ApplyWork {
  readonly application: Application
  readonly base: string | null
  readonly tree: string
}

/**
 * Gives the function that applies a tree to its target. The caller has the working tree of the target, and commits with `commit` the paths that are
 * about to be written.
 */
export const makeApply = Effect.gen(function* () {
  const applications = yield* ApplicationStore
  const sessions = yield* SessionStore
  const trees = yield* WorkingTrees
  const { changes } = yield* Bench
  return Effect.fnUntraced(function* <E>(
    { application, base, tree }: ApplyWork,
    commit: (command: Effect.Effect<void, never, Commit>) => Effect.Effect<void, E>
  ) {
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
        { planned: (paths) => commit(applications.plan(application.id, paths)) }
      )
      .pipe(Effect.mapError((error) => (error instanceof GitError ? jobErrorOf(error) : error)))
  }, Effect.scoped)
})

/** Another node has the session that made the changeset, and its snapshot could not be had. */
const sourceMissing = ({ message, retryable }: SnapshotError): JobError =>
  new JobError({ code: "executor_unavailable", message, retryable })

const jobErrorOf = ({ kind, message }: GitError): JobError =>
  new JobError({ code: kind === "timeout" ? kind : "internal_error", message, retryable: kind === "timeout" })

const treeGone = new JobError({
  code: "executor_unavailable",
  message: "The workspace of the target session is gone. Choose another target.",
  retryable: false
})

/** The end of an application whose work has failed. */
export const endedBy = ({ code, message }: { readonly code: string; readonly message: string }): ApplicationChange => ({
  state: "failed",
  reason: isReason(code) ? code : "internal_error",
  reasonMessage: message
})

const isReason = (code: string): code is ApplicationReason =>
  ApplicationReason.literals.some((reason) => reason === code)
