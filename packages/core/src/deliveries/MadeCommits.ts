import type { Delivery } from "./Delivery.js"

/** A commit that was made for a delivery, in the git directory of its session. */
export interface MadeCommit {
  readonly commit: string
  readonly parents: ReadonlyArray<string>
  /** Undefined in the record of a release that did not write it down. */
  readonly tree: string | undefined
}

/** The commits that attempts at a delivery have written down, the newest first. */
export const madeCommits = ({ steps }: Delivery): ReadonlyArray<MadeCommit> =>
  steps
    .flatMap(({ detail: { commit, parents, tree }, kind, outcome }) =>
      kind === "materialize" && outcome === "succeeded" && typeof commit === "string"
        ? [
            {
              commit,
              parents: Array.isArray(parents) ? parents.map(String) : [],
              tree: typeof tree === "string" ? tree : undefined
            }
          ]
        : []
    )
    .reverse()

/** The commit that an attempt at a delivery has written down as pushed. */
export const pushedCommit = ({ steps }: Delivery): string | undefined => {
  const head = steps.find(({ kind, outcome }) => kind === "push" && outcome === "succeeded")?.detail["head"]
  return typeof head === "string" ? head : undefined
}
