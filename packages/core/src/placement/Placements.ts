import type { Fragment } from "@effect/sql/Statement"
import { Context, Data, Effect, Layer } from "effect"
import type { SessionId } from "../domain/Ids.js"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import { Nodes } from "./Nodes.js"

/**
 * The place of a session's files. `here` and `elsewhere` are nodes that have them, `sealed` and `lost` sessions are in their snapshot alone, and
 * a session that is `nowhere` needed no files yet. The epoch grows with each change of the node.
 */
export type Place =
  | { readonly kind: "here"; readonly node: string | null; readonly epoch: number }
  | { readonly kind: "elsewhere"; readonly node: string; readonly epoch: number }
  | { readonly kind: "sealed" | "lost"; readonly epoch: number; readonly snapshotId: string | null }
  | { readonly kind: "nowhere" }

/** The facts of a session by which its node is chosen. */
export interface SessionNeeds {
  /** The provider whose agent has to be installed; null for any node. */
  readonly providerId: string | null
  /** The session beside whose files it should be, because it begins with them or works for it; null for none. */
  readonly besideId: string | null
}

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
    /** Gives those of these sessions that are nowhere to this node, because their files are on its disk. */
    readonly adopt: (sessionIds: ReadonlyArray<SessionId>) => Effect.Effect<void>
    /** Gives a session that needs files to the node that suits it best, unless it has one. It stays where it is while no node takes it. */
    readonly settle: (sessionId: SessionId) => Effect.Effect<Place>
    /** True while the files are here and this process may act for its node. Nobody can place the session elsewhere until the commit is through. */
    readonly holds: (sessionId: SessionId) => Effect.Effect<boolean, never, Commit>
    /** Dies with `NotOwner` where `holds` is false. */
    readonly fence: (sessionId: SessionId) => Effect.Effect<void, never, Commit>
    /** The end of a condition, ` and ...`, by which a statement leaves out the sessions whose files are not here. Empty on one machine. */
    readonly isHere: (sessionId: Fragment) => Fragment
    /** Adds a listener that hears of the node of a session in the commit that places it, and each time that somebody wants it placed. */
    readonly onPlaced: (
      listener: (sessionId: SessionId, node: string) => Effect.Effect<void, never, Commit>
    ) => Effect.Effect<void>
    /** Takes the source of what sessions need. */
    readonly describe: (describer: (sessionId: SessionId) => Effect.Effect<SessionNeeds>) => Effect.Effect<void>
  }
>() {
  /** One machine: no rows and no statements. */
  static readonly layerSingle = Layer.effect(
    Placements,
    Effect.map(Database, ({ sql }) =>
      Placements.of({
        at: () => Effect.succeed(here),
        place: () => Effect.succeed(here),
        adopt: () => Effect.void,
        settle: () => Effect.succeed(here),
        holds: () => Effect.succeed(true),
        fence: () => Effect.void,
        onPlaced: () => Effect.void,
        isHere: () => sql``,
        describe: () => Effect.void
      })
    )
  )
}

/** One machine alone: its node without a name, with the files of every session. */
export const oneMachine = Layer.suspend(() => Layer.merge(Nodes.layerSingle, Placements.layerSingle))

const here = { kind: "here", node: null, epoch: 0 } as const
