import { Effect } from "effect"
import { Git } from "../git/Git.js"
import type { CloneResult } from "../repository/Repository.js"
import type { GitError } from "../repository/run/GitError.js"
import type { MakingEar } from "./Bench.js"
import { objectStores } from "./ObjectStores.js"
import type { SessionPaths } from "./SessionPaths.js"
import type { TreeBase, TreeOrigin } from "./TreeOrder.js"

/** Makes the files of a session in a folder from its repository, or none. */
export const cloning = Effect.gen(function* () {
  const git = yield* Git
  const stores = yield* objectStores

  return Effect.fnUntraced(function* (
    origin: TreeOrigin,
    { gitDir, workTree }: Pick<SessionPaths, "gitDir" | "workTree">,
    ear: Pick<MakingEar, "credential">
  ): Effect.fn.Return<TreeBase, GitError> {
    if (origin.repository === null) {
      yield* git.init({ gitDir, workTree })
      return { base_commit: null, base_ref: null }
    }
    const credential = yield* ear.credential
    const store = (yield* stores).storeFor(origin)
    const cloned = yield* git.clone({
      url: origin.repository,
      ref: origin.base_commit ?? origin.base_ref,
      gitDir,
      workTree,
      ...(store && { store }),
      ...(origin.sparse !== null && { sparse: origin.sparse }),
      ...(credential && { credential })
    })
    return baseOf(origin, cloned)
  })
})

/** The place that the files start from. A tag has its whole name, because nobody merges into one. */
export const baseOf = (
  { base_commit, base_ref }: Pick<TreeOrigin, "base_commit" | "base_ref">,
  { commit, ref, tag }: CloneResult
): TreeBase => ({
  base_commit: commit,
  base_ref: tag === true && base_commit === null ? `refs/tags/${ref}` : (base_ref ?? ref)
})
