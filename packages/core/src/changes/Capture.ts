import { Effect } from "effect"
import { failpoint } from "../base/Failpoint.js"
import { fn } from "../base/Traced.js"
import type { ChangesetId } from "../domain/Ids.js"
import { Git } from "../git/Git.js"
import type { SessionRow } from "../sessions/SessionRow.js"
import type { Commit } from "../store/Commit.js"
import { Snapshots } from "../worktrees/snapshots/Snapshots.js"
import { WorkingTrees } from "../worktrees/WorkingTrees.js"
import type { ChangedFile } from "./Changeset.js"

// Loaded with the first obstacle.
const obstacleTexts = Effect.promise(() => import("./ObstacleTexts.js"))

/** The content of a workspace at one moment. The git objects that it names are pinned before anybody writes it down. */
export interface CapturedTree {
  /** The id of the git tree. */
  readonly tree: string
  /** `sha256:<hex>` of the canonical manifest of the changed files. */
  readonly subjectDigest: string
  /** The files that differ from the base commit of the session, sorted by path. */
  readonly files: ReadonlyArray<ChangedFile>
  /** The number of lines that were added, and that were removed. */
  readonly additions: number
  readonly deletions: number
  /** Sentences for people about files that could not be captured, and about work that is left in the agent's own git. */
  readonly diagnostics: ReadonlyArray<string>
  /** Belongs into the commit that writes the content down: it notes the copy of the objects that outlives this machine. */
  readonly kept: Effect.Effect<void, never, Commit>
}

/**
 * Gives the function that reads the workspace of a session and pins what it holds for a changeset. The caller keeps the workspace still
 * meanwhile, and seals the changeset afterwards.
 */
export const workspaceCapture = Effect.gen(function* () {
  const git = yield* Git
  const trees = yield* WorkingTrees
  const snapshots = yield* Snapshots
  return fn("workspaceCapture")(function* (session: SessionRow, changesetId: ChangesetId) {
    const { gitDir, workTree } = trees.paths(session.id)
    const base = session.tree.base_commit
    const snapshot = yield* git.snapshot({ gitDir, workTree, base, message: `Capture ${changesetId}` })
    yield* failpoint("capture.tree_written")
    const { changes, commit, tree } = snapshot
    const [subject, , left, obstacles] = yield* Effect.all(
      [
        git.subject({ gitDir, base, tree, changes }),
        git.keep({ gitDir, ref: `changesets/${changesetId}`, commit }),
        git.leftBehind({ gitDir, workTree, base, tree }),
        git.obstacles({ gitDir, base, tree, changes }).pipe(
          Effect.flatMap((found) =>
            found.length === 0
              ? Effect.succeed([])
              : Effect.map(obstacleTexts, (texts) => found.map(texts.obstacleDiagnostic))
          ),
          Effect.catchTag("GitError", ({ message }) => Effect.succeed([unknownObstacles(message)]))
        )
      ],
      { concurrency: 4 }
    )
    yield* failpoint("capture.kept")
    const kept = yield* snapshots.keepChangeset(session, changesetId)
    const captured: CapturedTree = {
      ...snapshot,
      diagnostics: [...snapshot.diagnostics, ...obstacles, ...left],
      subjectDigest: subject.digest,
      kept
    }
    return captured
  })
})

const unknownObstacles = (message: string): string =>
  `Reins could not look for content that should not be delivered. A delivery looks again. ${message}`
