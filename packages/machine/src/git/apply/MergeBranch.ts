import { Effect } from "effect"
import type { RemoteHeadRequest } from "../../repository/Push.js"
import { requireTrusted } from "../../repository/Repository.js"
import { shownName } from "../../repository/read/Changes.js"
import { fetchCommit } from "../../repository/remote/RemoteFetch.js"
import { remoteOf } from "../../repository/remote/RemoteUrl.js"
import { isObjectId, records, runGit } from "../../repository/run/GitCommand.js"
import { classify, type GitError, notUnderstood } from "../../repository/run/GitError.js"
import type { GitMeans } from "../../repository/run/GitMeans.js"
import { treeOfCommit } from "./JoinBranch.js"

/** The head of a branch, and a commit that is to be merged into it. */
export interface MergeBranchRequest extends RemoteHeadRequest {
  readonly head: string
  readonly other: string
}

/** The merge of two commits as a tree. With conflicts it has their marks, which name the two commits. */
export interface MergedBranch {
  readonly tree: string
  /** The tree of the head. */
  readonly headTree: string
  /** The paths, for people and sorted, that both sides have changed. Empty for a clean merge. */
  readonly conflicts: ReadonlyArray<string>
}

/** A tree that was made from the merge of two commits. */
export interface LeftMarksRequest {
  readonly gitDir: string
  readonly tree: string
  readonly head: string
  readonly other: string
}

/** See `Git.mergeBranch`. */
export const mergeBranch = Effect.fnUntraced(function* (
  means: GitMeans,
  { credential, gitDir, head, other, url }: MergeBranchRequest
): Effect.fn.Return<MergedBranch, GitError> {
  yield* requireTrusted(gitDir, head, other)
  yield* Effect.scoped(
    Effect.flatMap(remoteOf(means, url, credential), (remote) =>
      Effect.zipRight(fetchCommit(means, gitDir, remote, head), fetchCommit(means, gitDir, remote, other))
    )
  )
  const output = yield* runGit({
    args: ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", head, other],
    gitDir,
    timeoutMs: means.localTimeoutMs
  })
  if (output.exitCode > 1) return yield* classify("merge-tree", output.stderr)
  const [tree = "", ...conflicts] = records(output.stdout)
  const paths = conflicts.filter((path) => path !== "")
  if (!isObjectId(tree) || (output.exitCode === 1) !== paths.length > 0) return yield* notUnderstood("merge-tree")
  return {
    tree,
    headTree: yield* treeOfCommit(means, gitDir, head),
    conflicts: [...new Set(paths.map(shownName))].sort()
  }
})

/** See `Git.leftMarks`. The marks of the merge itself count anywhere, others where neither commit has any. */
export const leftMarks = Effect.fnUntraced(function* (
  means: GitMeans,
  { gitDir, head, other, tree }: LeftMarksRequest
): Effect.fn.Return<ReadonlyArray<string>, GitError> {
  yield* requireTrusted(gitDir, tree, head, other)
  const find = (patterns: ReadonlyArray<string>, trees: ReadonlyArray<string>) =>
    Effect.map(grep(means, gitDir, patterns, trees), (found) => (of: string) => found.get(of) ?? [])
  const exact = yield* find(["-F", "-e", `<<<<<<< ${head}`, "-e", `>>>>>>> ${other}`], [tree])
  const any = yield* find(["-E", "-e", "^(<{7}|>{7})( |$)"], [tree, head, other])
  const before = new Set([...any(head), ...any(other)])
  const left = [...exact(tree), ...any(tree).filter((path) => !before.has(path))]
  return [...new Set(left.map(shownName))].sort()
})

/** The paths of each tree whose text has a line of the patterns. */
const grep = Effect.fnUntraced(function* (
  { localTimeoutMs: timeoutMs }: GitMeans,
  gitDir: string,
  patterns: ReadonlyArray<string>,
  trees: ReadonlyArray<string>
) {
  const output = yield* runGit({ args: ["grep", "-I", "-l", "-z", ...patterns, ...trees, "--"], gitDir, timeoutMs })
  if (output.exitCode > 1 || output.truncated) return yield* classify("grep", output.stderr)
  const found = new Map<string, Array<string>>()
  for (const record of records(output.stdout)) {
    const end = record.indexOf(":")
    const of = record.slice(0, end)
    if (end > 0) found.set(of, [...(found.get(of) ?? []), record.slice(end + 1)])
  }
  return found
})
