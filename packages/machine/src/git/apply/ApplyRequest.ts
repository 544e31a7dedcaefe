import type { Effect } from "effect"

/** One change, and the workspace that it is brought into. */
export interface ApplyRequest<E = never> {
  /** The change, in the trusted directory of the session that made it. */
  readonly source: { readonly gitDir: string; readonly base: string | null; readonly tree: string }
  /** The workspace to change, and the commit that it started from. */
  readonly target: { readonly gitDir: string; readonly workTree: string; readonly base: string | null }
  readonly strategy: "three_way" | "exact"
  readonly dryRun: boolean
  /** Runs with the paths that are about to be written, before the first of them is. */
  readonly planned?: (paths: ReadonlyArray<string>) => Effect.Effect<void, E>
}

/** `conflicted` exactly when `conflicts` names a path. Both lists are sorted. */
export interface ApplyResult {
  readonly state: "applied" | "conflicted"
  readonly conflicts: ReadonlyArray<string>
  readonly changed: ReadonlyArray<string>
}
