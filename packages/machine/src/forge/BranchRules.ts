import { fitsName } from "@reins/base/base/Globs"
import type { BranchDemand } from "./BranchDemands.js"

// Says what a forge demands of a branch, and who may write to a repository.

/** The demands of a forge before a merge into a branch. */
export interface BranchRules {
  /**
   * The names of the checks that have to pass. In a name, `*` stands for any text and `?` for one character. Empty where the forge names none. Null
   * where it does not show its rules to the token.
   */
  readonly requiredChecks: ReadonlyArray<string> | null
  /** Everything that the forge demands, as far as it shows that, the checks too. */
  readonly demands: ReadonlyArray<BranchDemand>
}

/** The right of an account on a repository. */
export type RepositoryAccess = "write" | "read" | "none"

/** True when a check has a name, which may be a pattern of `BranchRules`. */
export const fitsCheck = (pattern: string, name: string): boolean => fitsName(pattern, name)
