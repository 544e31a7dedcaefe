import type { Effect } from "effect"
import type { OwnRequest } from "../capture/files/OwnFiles.js"
import type { SnapshotRequest } from "../capture/index/Capturing.js"
import type { LeftRequest } from "../capture/LeftInGit.js"
import type { Snapshot } from "../capture/Snapshot.js"
import type { CommitRequest } from "../repository/Commit.js"
import type { GitError } from "../repository/run/GitError.js"
import type { ApplyRequest, ApplyResult } from "./apply/ApplyRequest.js"
import type { FiltersRequest, TreeFilter } from "./findings/Filters.js"
import type { Obstacle, ObstacleRequest } from "./findings/Obstacles.js"
import type { DiffRequest, DiffText, PatchRequest } from "./read/Diff.js"
import type { DigestedSubject, SubjectRequest } from "./read/Subject.js"
import type { Blob, BlobRequest, TreeEntry, TreeRequest } from "./read/Tree.js"
import type { WrittenRequest } from "./read/Written.js"

/** The methods of `Git` that work on a repository and its workspace alone. */
export interface TreeMethods {
  /**
   * The present content of the workspace as a tree in `gitDir`, with its differences from `base` (null: from nothing).
   * The tree is a function of base and content alone: ignored files that base does not hold stay out, content is
   * stored as the attributes of the workspace say (`text`, `eol`, `ident`, `working-tree-encoding`; no filter runs), and the agent's own
   * `.git` has no influence. `diagnostics` names what could not be captured:
   * nested repositories, special or oversized files. `files` is sorted by path. The tree
   * is on disk for certain, unless it was `passing`. Nothing pins it without `keepAs`: see `keep`.
   */
  readonly snapshot: (request: SnapshotRequest) => Effect.Effect<Snapshot, GitError>
  /**
   * Takes what the workspace holds now for its start: later snapshots leave out what is still so, and the whole file where it has changed
   * since. `base` is the commit that the workspace started from. A snapshot that is `whole` leaves nothing out.
   */
  readonly adopt: (request: SnapshotRequest) => Effect.Effect<void, GitError>
  /**
   * Looks at the places that the program of an agent writes for itself. The effect that it gives looks again: later snapshots leave out what has
   * changed between, and the whole file once it is changed further. It is run before the model of the agent is asked for anything.
   */
  readonly watchOwnFiles: (request: OwnRequest) => Effect.Effect<Effect.Effect<void, GitError>, GitError>
  /** Tells the next snapshot that the files of a workspace that was copied with its trusted directory are those that were snapshotted. */
  readonly refresh: (request: Omit<SnapshotRequest, "base">) => Effect.Effect<void, GitError>
  /** The sealed description of `tree` against `base`, and its digest `sha256:<hex>`. Equal if and only if the content is. */
  readonly subject: (request: SubjectRequest) => Effect.Effect<DigestedSubject, GitError>
  /** A commit of `tree`. The same request gives the same commit id, always. */
  readonly commitTree: (request: CommitRequest) => Effect.Effect<string, GitError>
  /**
   * Pins the commit of a snapshot as `refs/reins/<ref>`, so that it is never dropped by garbage collection. Repeating it changes
   * nothing.
   */
  readonly keep: (request: {
    readonly gitDir: string
    readonly ref: string
    readonly commit: string
  }) => Effect.Effect<void, GitError>
  /**
   * The paths that differ between two captures of a workspace and whose files were written before a time, as the system tells it. A path that
   * has no file any more is none of them. Nor is a file of the last 10 ms: the system's time of a file is up to a tick early.
   */
  readonly writtenBefore: (request: WrittenRequest) => Effect.Effect<ReadonlyArray<string>, GitError>
  /**
   * Sentences about work that is in the agent's own git and not in a captured tree: commits elsewhere, a stash, files of the index, operations
   * that were not ended. Nothing of the repository is run. Never fails: a part that cannot be read is a sentence too.
   */
  readonly leftBehind: (request: LeftRequest) => Effect.Effect<ReadonlyArray<string>, GitError>
  /**
   * The reasons not to deliver a tree unless somebody allows them, the gravest first. One is content that a filter of the repository has not
   * stored. The other is an added name that differs from another one by case or Unicode form alone. A function of the objects alone.
   */
  readonly obstacles: (request: ObstacleRequest) => Effect.Effect<ReadonlyArray<Obstacle>, GitError>
  /** The filters that the attributes of a tree name, those of most files first, at most 20. Fails with `conflict` above 200,000 files. */
  readonly filters: (request: FiltersRequest) => Effect.Effect<ReadonlyArray<TreeFilter>, GitError>
  /**
   * A unified diff for people: renames found, binary content named only. At most 1,000 files, 512 KiB a file and 1 MiB in all, and `omitted`
   * says which lines were left out. `path` narrows it to one file or folder, by its name before or after.
   */
  readonly diff: (request: DiffRequest) => Effect.Effect<DiffText, GitError>
  /**
   * The whole change as a text that `git apply` accepts, whatever bytes the content has. Fails with `conflict` above `maxBytes`.
   */
  readonly patch: (request: PatchRequest) => Effect.Effect<string, GitError>
  /** Every file of a tree, sorted by path; `truncated` beyond 100,000. */
  readonly listTree: (
    request: TreeRequest
  ) => Effect.Effect<{ readonly items: ReadonlyArray<TreeEntry>; readonly truncated: boolean }, GitError>
  /**
   * One file of a tree. Of a symbolic link the bytes are its target, which is never followed. `size` and `digest` are of
   * the whole content also when `bytes` is cut at `maxBytes`. Fails with `not_found` for an absent path or a folder.
   */
  readonly readBlob: (request: BlobRequest) => Effect.Effect<Blob, GitError>
  /** Every file of a tree with git's mode of it, by its path as latin1, which keeps every byte of a name. */
  readonly treeModes: (request: TreeRequest) => Effect.Effect<ReadonlyMap<string, string>, GitError>
  /**
   * Brings the change from `base` to `tree` onto the target workspace's present content. `three_way` merges, `exact`
   * wants every touched path as `base` has it. With a conflict or with `dryRun` the target stays untouched. `conflicts`
   * lists the paths in conflict, `changed` the paths that were written, or would be.
   */
  readonly applyTree: <E = never>(request: ApplyRequest<E>) => Effect.Effect<ApplyResult, GitError | E>
}
