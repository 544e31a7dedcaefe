import { Context, Data, Effect, Layer } from "effect"
import type { SessionId } from "../domain/Ids.js"
import type { Commit } from "../store/Commit.js"

/**
 * The place of a session's files. `here` and `elsewhere` are nodes that have them, `sealed` and `lost` sessions are in their snapshot alone, and
 * a session that is `nowhere` needed no files yet. The epoch grows with each change of the node.
 */
export type Place =
  | { readonly kind: "here"; readonly epoch: number }
  | { readonly kind: "elsewhere"; readonly node: string; readonly epoch: number }
  | { readonly kind: "sealed" | "lost"; readonly epoch: number; readonly snapshotId: string | null }
  | { readonly kind: "nowhere" }

/**
 * The defect of a commit that would write for a session whose files another node has. Nothing was written. A request is answered with 503, and an
 * attempt stops.
 */
export class NotOwner extends Data.TaggedError("NotOwner")<{ readonly sessionId: SessionId }> {
  override get message() {
    return `Another node has the files of ${this.sessionId}.`
  }
}

/** Says which node has the files of a session. On one machine everything is here, and there are no rows. */
export class Placements extends Context.Tag("@reins/core/placement/Placements")<
  Placements,
  {
    /** The place of a session's files. */
    readonly at: (sessionId: SessionId) => Effect.Effect<Place>
    /** Gives a session that is nowhere, sealed or lost to a node. Gives back its place, which is another one when another node was faster. */
    readonly place: (sessionId: SessionId, node: string) => Effect.Effect<Place, never, Commit>
    /** Holds the place until the commit is through. Dies with `NotOwner` when the files are not here. */
    readonly fence: (sessionId: SessionId) => Effect.Effect<void, never, Commit>
  }
>() {
  /** One machine: no rows and no statements. */
  static readonly layerSingle = Layer.succeed(
    Placements,
    Placements.of({
      at: () => Effect.succeed(here),
      place: () => Effect.succeed(here),
      fence: () => Effect.void
    })
  )
}

const here = { kind: "here", epoch: 0 } as const
