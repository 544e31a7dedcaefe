import { DateTime, Effect } from "effect"
import { commitTree } from "../../repository/Commit.js"
import { isObjectId, records, runGit } from "../../repository/run/GitCommand.js"
import { classify, type GitError, notUnderstood } from "../../repository/run/GitError.js"
import type { GitOptionsShape } from "../../repository/run/GitOptions.js"

/** Two trees that were made from a third one. `env` may name further object stores. */
export interface TreesToMerge {
  readonly gitDir: string
  readonly base: string
  readonly ours: string
  readonly theirs: string
  readonly env?: Readonly<Record<string, string>>
}

/** The merged tree. With conflicts it has their marks, and `conflicts` names the paths as latin1, which keeps every byte. */
export interface MergedTrees {
  readonly tree: string
  readonly conflicts: ReadonlyArray<string>
}

const beginning = DateTime.unsafeMake(0)

/** Merges three ways. git 2.39 merges commits only, so each tree gets a commit that nothing keeps. */
export const mergeTrees = (options: GitOptionsShape, request: TreesToMerge): Effect.Effect<MergedTrees, GitError> =>
  Effect.gen(function* () {
    const { base, env, gitDir, ours, theirs } = request
    const commit = (tree: string, parents: ReadonlyArray<string>) =>
      commitTree(options, { gitDir, tree, parents, message: "merge input", date: beginning, ...(env && { env }) })
    const root = yield* commit(base, [])
    const left = yield* commit(ours, [root])
    const right = yield* commit(theirs, [root])
    const output = yield* runGit({
      args: ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", left, right],
      gitDir,
      ...(env && { env }),
      timeoutMs: options.localTimeoutMs
    })
    const [tree = "", ...conflicts] = records(output.stdout)
    if (output.exitCode > 1) return yield* classify("merge-tree", output.stderr)
    const paths = conflicts.filter((path) => path !== "")
    // A merge that is not clean names its paths.
    if (!isObjectId(tree) || (output.exitCode === 1) !== paths.length > 0) return yield* notUnderstood("merge-tree")
    return { tree, conflicts: paths }
  })
