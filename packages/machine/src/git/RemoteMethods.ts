import type { Effect } from "effect"
import type { FollowRequest } from "../capture/agent/AgentRemote.js"
import type { ReattachRequest } from "../capture/agent/Reattach.js"
import type { AddRequest, BundleRequest, UnbundleRequest } from "../repository/Bundles.js"
import type { PushRequest, PushResult, RemoteHeadRequest } from "../repository/Push.js"
import type { CloneRequest, CloneResult, InitRequest, ResolveRequest } from "../repository/Repository.js"
import type { GitError } from "../repository/run/GitError.js"
import type { Joined, JoinRequest } from "./apply/JoinBranch.js"
import type { LeftMarksRequest, MergeBranchRequest, MergedBranch } from "./apply/MergeBranch.js"
import type { CheckOutRequest } from "./read/CheckOut.js"

/** The methods of `Git` that make repositories of the service, and speak to remotes. */
export interface RemoteMethods {
  /**
   * Fetches the remote into `gitDir` and checks out `ref` in `workTree` (absent or empty before) as an ordinary clone
   * with a `.git` of its own, whose remote URL carries no credential. `ref` is a branch, a tag or a full commit id;
   * null means the remote's default branch. From an empty remote comes `commit: null`.
   * Fails with `ref_not_found`, `not_found`, `auth_required`, `remote_refused`, `remote_unavailable`, `timeout`, or `conflict`
   * when `workTree` holds something.
   */
  readonly clone: (request: CloneRequest) => Effect.Effect<CloneResult, GitError>
  /**
   * The commit that `clone` would check out now, without fetching it: an answer of the remote proves that the credential is good there.
   * Fails like `clone`.
   */
  readonly resolve: (request: ResolveRequest) => Effect.Effect<CloneResult, GitError>
  /** Makes `gitDir`, and `workTree` (absent or empty before) as an ordinary repository without a commit. */
  readonly init: (request: InitRequest) => Effect.Effect<void, GitError>
  /**
   * Writes the references of a trusted directory and what they need into a file, from which `unbundle` makes another one. Equal objects
   * give equal bytes. False, without a file, when there are no references of the kind.
   */
  readonly bundle: (request: BundleRequest) => Effect.Effect<boolean, GitError>
  /** Makes a trusted directory from bundles, at a path where nothing is. Fails when an object is missing, or the remote lacks the base. */
  readonly unbundle: (request: UnbundleRequest) => Effect.Effect<void, GitError>
  /** Adds what a bundle holds to a trusted directory. Fails when that lacks what the bundle builds on. */
  readonly addBundle: (request: AddRequest) => Effect.Effect<void, GitError>
  /** Writes the files of a commit to a folder that has none of them, as its attributes say. Later snapshots of the folder find them unchanged. */
  readonly checkOut: (request: CheckOutRequest) => Effect.Effect<void, GitError>
  /**
   * Gives `origin` of the agent's own repository another URL, where it still has the one of before. False where it has not. Git is not run
   * there.
   */
  readonly followRemote: (request: FollowRequest) => Effect.Effect<boolean, GitError>
  /**
   * Makes sure of the object store of a workspace, which is gone or in doubt. Where it is damaged, the remote gives its objects anew, and both
   * repositories of the workspace name the store that is asked for. False where the store is whole. Fails like `clone`.
   */
  readonly reattach: (request: ReattachRequest) => Effect.Effect<boolean, GitError>
  /** The head of the remote's branch now; null when the branch does not exist. */
  readonly remoteHead: (request: RemoteHeadRequest) => Effect.Effect<string | null, GitError>
  /**
   * Fetches the head of a remote's branch, and merges a tree into it three ways. The third one is the work as it was pushed last. Nothing is
   * written to the remote.
   */
  readonly joinBranch: (request: JoinRequest) => Effect.Effect<Joined, GitError>
  /** Fetches two commits of a remote, and merges the other one into the head as git does. Nothing is written to the remote. */
  readonly mergeBranch: (request: MergeBranchRequest) => Effect.Effect<MergedBranch, GitError>
  /** The paths, for people and sorted, at which a tree still has marks of a conflict that `mergeBranch` has written. */
  readonly leftMarks: (request: LeftMarksRequest) => Effect.Effect<ReadonlyArray<string>, GitError>
  /**
   * Moves the remote's branch to `commit`. It looks first: a branch that is at `commit` already is success without a
   * push (`pushed: false`), and a branch that is not at `expectedHead` (null: absent) is `remote_head_changed`. `fast_forward` refuses
   * a commit that does not contain the head with `rejected_non_fast_forward`; `force_with_lease` replaces exactly the
   * expected head. Also fails with `branch_protected`, `auth_required`, `remote_unavailable`, `timeout`.
   */
  readonly push: (request: PushRequest) => Effect.Effect<PushResult, GitError>
}
