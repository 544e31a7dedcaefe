import { Effect } from "effect"
import type { RemoteHeadRequest } from "../../repository/Push.js"
import { requireTrusted } from "../../repository/Repository.js"
import { shownName } from "../../repository/read/Changes.js"
import { fetchCommit } from "../../repository/remote/RemoteFetch.js"
import { remoteOf } from "../../repository/remote/RemoteUrl.js"
import { git, isObjectId, runGit } from "../../repository/run/GitCommand.js"
import { classify, type GitError, notUnderstood } from "../../repository/run/GitError.js"
import type { GitMeans } from "../../repository/run/GitMeans.js"
import { mergeTrees } from "./MergeTrees.js"

/** A commit that was pushed to a branch, and the tree of the work at that time. The commit's own tree may have more. */
export interface EarlierCommit {
  readonly commit: string
  readonly tree: string
}

/** A tree that is to go on top of a branch of a remote. */
export interface JoinRequest extends RemoteHeadRequest {
  /** The commit at which the branch was seen. */
  readonly head: string
  readonly tree: string
  /** The commits that were made of this tree before. One of them may have reached the branch. */
  readonly own: ReadonlyArray<string>
  /** The commits that were pushed to the branch before, the newest first. At least one. */
  readonly earlier: readonly [EarlierCommit, ...ReadonlyArray<EarlierCommit>]
}

export type Joined =
  /** The branch has one of the commits that were made of the tree. */
  | { readonly state: "contained"; readonly commit: string }
  /** The tree for a commit on top of the head. `isSame` when the head has that very tree. */
  | { readonly state: "merged"; readonly tree: string; readonly isSame: boolean }
  /** The paths, for people and sorted, that both sides have changed. */
  | { readonly state: "conflicted"; readonly paths: ReadonlyArray<string> }

/**
 * See `Git.joinBranch`. The base of the merge is the work as it was pushed last, and not the tree of that commit. The
 * tree of the commit may hold files of people, which the work does not have. Against it the work would seem to remove them.
 */
export const joinBranch = Effect.fnUntraced(function* (
  means: GitMeans,
  request: JoinRequest
): Effect.fn.Return<Joined, GitError> {
  const { earlier, gitDir, head, own, tree } = request
  const commits = earlier.map(({ commit }) => commit)
  yield* requireTrusted(gitDir, head, tree, ...own, ...earlier.flatMap((each) => [each.commit, each.tree]))
  yield* Effect.scoped(
    Effect.flatMap(remoteOf(means, request.url, request.credential), (remote) =>
      fetchCommit(means, gitDir, remote, head)
    )
  )
  for (const commit of own) if (yield* isWithin(means, gitDir, commit, head)) return { state: "contained", commit }
  const last = yield* newestWithin(means, gitDir, commits, head)
  const base = earlier.find(({ commit }) => commit === last) ?? earlier[0]
  const theirs = yield* treeOfCommit(means, gitDir, head)
  const merged = yield* mergeTrees(means, { gitDir, base: base.tree, ours: tree, theirs })
  return merged.conflicts.length > 0
    ? { state: "conflicted", paths: [...new Set(merged.conflicts.map(shownName))].sort() }
    : { state: "merged", tree: merged.tree, isSame: merged.tree === theirs }
})

/** True when a head has a commit in its history. A commit that is not there is in no history that is. */
const isWithin = (means: GitMeans, gitDir: string, commit: string, head: string) =>
  runGit({
    args: ["merge-base", "--is-ancestor", commit, head],
    gitDir,
    timeoutMs: means.localTimeoutMs
  }).pipe(Effect.map(({ exitCode }) => exitCode === 0))

/** The commit of a list that is nearest to a head in its history; undefined when the history has none. It walks only what is newer. */
const newestWithin = Effect.fnUntraced(function* (
  means: GitMeans,
  gitDir: string,
  commits: ReadonlyArray<string>,
  head: string
) {
  if (commits.includes(head)) return head
  const output = yield* runGit({
    args: ["rev-list", "--boundary", "--ignore-missing", head, "--not", ...commits],
    gitDir,
    timeoutMs: means.localTimeoutMs
  })
  if (output.exitCode !== 0 || output.truncated) return yield* classify("rev-list", output.stderr)
  const boundary = new Set(output.stdout.toString("utf8").split("\n"))
  return commits.find((commit) => boundary.has(`-${commit}`))
})

/** The tree of a commit in a trusted git directory. */
export const treeOfCommit = (means: GitMeans, gitDir: string, commit: string) =>
  git({
    args: ["rev-parse", "--verify", "--end-of-options", `${commit}^{tree}`],
    gitDir,
    timeoutMs: means.localTimeoutMs
  }).pipe(
    Effect.map((output) => output.stdout.toString("utf8").trim()),
    Effect.filterOrFail(isObjectId, () => notUnderstood("rev-parse"))
  )
