import { fn } from "@reins/base/base/Traced"
import type { ChangesetId } from "@reins/base/domain/Ids"
import { Bench } from "@reins/machine/bench/Bench"
import type { TreeCapture } from "@reins/machine/bench/Changes"
import { hiddenObstacles } from "@reins/machine/git/findings/Obstacles"
import { Effect } from "effect"
import type { SessionRow } from "../sessions/rows/SessionRow.js"
import type { Commit } from "../store/Commit.js"
import { Snapshots } from "../worktrees/snapshots/Snapshots.js"
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
  /** Paths (latin1) that the agent's git hides, though it may have another version of them. They block a delivery. */
  readonly hidden: ReadonlyArray<string>
  /** Belongs into the commit that writes the content down: it notes the copy of the objects that outlives this machine. */
  readonly kept: Effect.Effect<void, never, Commit>
}

/**
 * Gives the function that reads the workspace of a session and pins what it holds for a changeset. The caller keeps the workspace still
 * meanwhile, and seals the changeset afterwards.
 */
export const treeCapture = Effect.gen(function* () {
  const { changes } = yield* Bench
  const snapshots = yield* Snapshots
  return fn("workspaceCapture")(function* (session: SessionRow, changesetId: ChangesetId) {
    const { digest, left, obstacles, ...found } = yield* changes.capture(
      session.id,
      session.tree.base_commit,
      changesetId
    )
    const kept = yield* snapshots.keepChangeset(session, changesetId)
    const captured: CapturedTree = {
      ...found,
      diagnostics: [
        ...found.diagnostics,
        ...(yield* sentencesOf(hiddenObstacles(found.hidden))),
        ...(yield* sentencesOf(obstacles)),
        ...left
      ],
      subjectDigest: digest,
      kept
    }
    return captured
  })
})

const sentencesOf = Effect.fnUntraced(function* (obstacles: TreeCapture["obstacles"]) {
  if (typeof obstacles === "string") return [unknownObstacles(obstacles)]
  if (obstacles.length === 0) return []
  const { obstacleDiagnostic } = yield* obstacleTexts
  return obstacles.map(obstacleDiagnostic)
})

const unknownObstacles = (message: string): string =>
  `Reins could not look for content that should not be delivered. A delivery looks again. ${message}`
