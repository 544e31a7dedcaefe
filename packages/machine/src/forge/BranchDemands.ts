import type { MergeMethod } from "@reins/base/domain/MergeMethod"

// Says what a forge demands before a merge into a branch, as far as it shows that.

/**
 * One demand of a forge.
 * - `approvals`: people with write access have to approve, this very head where `ofHead` is true.
 * - `last_push`: somebody else than the last one who has pushed has to approve this very head.
 * - `threads`: every thread about a line has to be resolved.
 * - `check`: a check has to pass, which the app has reported where one is named. Its name is a pattern, as those of `BranchRules` are.
 * - `methods`: the ways to merge that the rules take.
 * - `queue`: the branch is merged into through a queue alone.
 * - `rule`: a rule of which nothing here can tell if it is met.
 */
export type BranchDemand = (
  | { readonly kind: "approvals"; readonly count: number; readonly ofHead: boolean }
  | { readonly kind: "last_push" }
  | { readonly kind: "threads" }
  | { readonly kind: "check"; readonly context: string; readonly app: number | null }
  | { readonly kind: "methods"; readonly methods: ReadonlyArray<MergeMethod> }
  | { readonly kind: "queue" }
  | { readonly kind: "rule"; readonly rule: string; readonly say: string }
) & {
  /** True where the token may pass it by, or nobody says so. What the forge says of the merge proves nothing then. */
  readonly passable: boolean
}

/** The ways to merge that all demands take; undefined where nothing is said about them. */
export const methodsIn = (demands: ReadonlyArray<BranchDemand>): ReadonlyArray<MergeMethod> | undefined => {
  const lists = demands.flatMap((each) => (each.kind === "methods" ? [each.methods] : []))
  const [first, ...others] = lists
  return first?.filter((method) => others.every((list) => list.includes(method)))
}

const preferred: ReadonlyArray<MergeMethod> = ["merge", "squash", "rebase"]

/** The way to merge: the wanted one, or where any will do, the first that the demands take. */
export const methodFor = (
  demands: ReadonlyArray<BranchDemand>,
  wanted: MergeMethod,
  mayDiffer: boolean
): MergeMethod | undefined => {
  const taken = methodsIn(demands)
  if (taken === undefined || taken.includes(wanted)) return wanted
  return mayDiffer ? preferred.find((method) => taken.includes(method)) : undefined
}
