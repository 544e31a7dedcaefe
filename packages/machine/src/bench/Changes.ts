import type { GitIdentity } from "@reins/base/domain/GitIdentity"
import type { ChangesetId, SessionId } from "@reins/base/domain/Ids"
import type { DateTime, Effect } from "effect"
import type { ApplyResult } from "../git/apply/ApplyRequest.js"
import type { EarlierCommit, Joined } from "../git/apply/JoinBranch.js"
import type { MergedBranch } from "../git/apply/MergeBranch.js"
import type { Obstacle } from "../git/findings/Obstacles.js"
import type { DiffText } from "../git/read/Diff.js"
import type { Blob } from "../git/read/Tree.js"
import type { PushResult } from "../repository/Push.js"
import type { FileChange } from "../repository/read/Changes.js"
import type { GitCredential } from "../repository/remote/RemoteUrl.js"
import type { GitError } from "../repository/run/GitError.js"
import type { ObjectSource } from "./TreeOrder.js"

/** The files of a session that differ from its base, with the id of the tree that holds them. */
export interface CurrentTree {
  readonly tree: string
  readonly files: ReadonlyArray<FileChange>
}

/** The content of a changeset. Its objects are pinned before anybody writes it down. */
export interface TreeCapture extends CurrentTree {
  /** `sha256:<hex>` of the canonical manifest of the changed files. */
  readonly digest: string
  readonly additions: number
  readonly deletions: number
  /** Sentences about files that could not be captured. */
  readonly diagnostics: ReadonlyArray<string>
  /** Sentences about work that is left in the agent's own git. */
  readonly left: ReadonlyArray<string>
  /** Paths that the agent's git hides, though it may have another version of them. Names are latin1. */
  readonly hidden: ReadonlyArray<string>
  /** The reasons not to deliver it, or a sentence that says why nobody could look for them. */
  readonly obstacles: ReadonlyArray<Obstacle> | string
}

/** A tree among the objects of a session, and the commit that it is compared with; null compares with nothing. */
export interface TreeChange {
  readonly session: SessionId
  readonly base: string | null
  readonly tree: string
}

/** A branch of a remote. */
export interface RemoteBranch {
  readonly session: SessionId
  readonly url: string
  readonly branch: string
  readonly credential?: GitCredential
}

/** A change that is to be brought into the files of a session. */
export interface ApplyOrder {
  readonly source: { readonly objects: ObjectSource; readonly base: string | null; readonly tree: string }
  readonly target: { readonly session: SessionId; readonly base: string | null }
  readonly strategy: "three_way" | "exact"
  readonly dryRun: boolean
}

/** A tree to commit among the objects of a session. */
export interface CommitOrder {
  readonly session: SessionId
  readonly tree: string
  readonly parents: ReadonlyArray<string>
  readonly message: string
  readonly date: DateTime.Utc
  /** The committer when absent. */
  readonly author?: GitIdentity
  readonly committer?: GitIdentity
  readonly signs: boolean
}

/** The question of a commit that is to be signed. The key stays with whoever answers. */
export interface CommitEar {
  readonly sign: (content: Uint8Array) => Effect.Effect<string>
}

/** The work of sessions as changes of git. The methods are those of `Git`, on the files and the objects of a session. */
export interface Changes {
  /** Reads the working tree of a session and pins what it holds for a changeset. The caller keeps the working tree still meanwhile. */
  readonly capture: (
    session: SessionId,
    base: string | null,
    changeset: ChangesetId
  ) => Effect.Effect<TreeCapture, GitError>
  /** The same at this moment, which nothing pins. */
  readonly current: (session: SessionId, base: string | null) => Effect.Effect<CurrentTree, GitError>
  readonly diff: (
    change: TreeChange,
    view: { readonly path?: string; readonly context?: number }
  ) => Effect.Effect<DiffText, GitError>
  readonly file: (session: SessionId, tree: string, path: string, maxBytes: number) => Effect.Effect<Blob, GitError>
  readonly patch: (change: TreeChange) => Effect.Effect<string, GitError>
  readonly obstacles: (change: TreeChange) => Effect.Effect<ReadonlyArray<Obstacle>, GitError>
  /** As `Git.writtenBefore`; `before` is in milliseconds since 1970. */
  readonly writtenBefore: (request: {
    readonly session: SessionId
    readonly from: string
    readonly to: string
    readonly before: number
  }) => Effect.Effect<ReadonlyArray<string>, GitError>
  /** As `Git.applyTree`. `planned` runs with the paths that are about to be written. */
  readonly apply: <E>(
    order: ApplyOrder,
    ear: { readonly planned: (paths: ReadonlyArray<string>) => Effect.Effect<void, E> }
  ) => Effect.Effect<ApplyResult, GitError | E>
  /** Makes a commit of a tree. The same request gives the same commit. A commit that `signs` asks the ear once, with its bytes. */
  readonly commit: (request: CommitOrder, ear: CommitEar) => Effect.Effect<string, GitError>
  /** As `Git.remoteHead`. */
  readonly head: (branch: RemoteBranch) => Effect.Effect<string | null, GitError>
  /** As `Git.joinBranch`. */
  readonly join: (
    branch: RemoteBranch,
    work: {
      readonly head: string
      readonly tree: string
      readonly own: ReadonlyArray<string>
      readonly earlier: readonly [EarlierCommit, ...ReadonlyArray<EarlierCommit>]
    }
  ) => Effect.Effect<Joined, GitError>
  /** As `Git.mergeBranch`. */
  readonly merge: (
    branch: RemoteBranch,
    commits: { readonly head: string; readonly other: string }
  ) => Effect.Effect<MergedBranch, GitError>
  /** As `Git.leftMarks`. */
  readonly leftMarks: (request: {
    readonly session: SessionId
    readonly tree: string
    readonly head: string
    readonly other: string
  }) => Effect.Effect<ReadonlyArray<string>, GitError>
  /** As `Git.push`. */
  readonly push: (
    branch: RemoteBranch,
    push: {
      readonly commit: string
      readonly expectedHead: string | null
      readonly strategy: "fast_forward" | "force_with_lease"
    }
  ) => Effect.Effect<PushResult, GitError>
  /** As `Git.followRemote`. */
  readonly followRemote: (session: SessionId, from: string, to: string) => Effect.Effect<boolean, GitError>
}
