import { isRefName, refNameRule } from "@reins/base/domain/RefName"
import { Effect } from "effect"
import { GitError } from "./GitError.js"

/** Fails with `ref_not_found` unless `isRefName`. */
export const requireRefName = (name: string): Effect.Effect<void, GitError> =>
  isRefName(name)
    ? Effect.void
    : Effect.fail(
        new GitError({
          kind: "ref_not_found",
          message: `The name is not a valid branch or tag name: use ${refNameRule}.`
        })
      )
