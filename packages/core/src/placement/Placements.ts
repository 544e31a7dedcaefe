import type { Fragment } from "@effect/sql/Statement"
import type { SessionId } from "@reins/base/domain/Ids"
import { Context, Data, Effect, Layer } from "effect"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import { Nodes } from "./Nodes.js"

/**
 * The place of a session's files. `here` and `elsewhere` are nodes that have them, `sealed` and `lost` sessions are in their snapshot alone, and
 * a session that is `nowhere` needed no files yet. Files that are `awaited` here come from the snapshot before anybody uses them. The epoch grows
 * with each change of the node.
 */
export type Place =
  | { readonly kind: "here"; readonly node: string | null; readonly epoch: number; readonly awaited: boolean }
  | { readonly kind: "elsewhere"; readonly node: string; readonly epoch: number }
  | { readonly kind: "sealed" | "lost"; readonly epoch: number }
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

/** The files that this node should have could not be made from their snapshot. The message says why, and what to do. */
export class NotRestored extends Data.TaggedError("NotRestored")<{
  readonly sessionId: SessionId
  readonly message: string
  readonly retryable: boolean
}> {}

/** Work of the session runs, so its files stay where they are. */
export class SessionBusy extends Data.TaggedError("SessionBusy")<{ readonly sessionId: SessionId }> {}

/** The commits that hear of the node of a session. `node` is null when it has none any more. */
export type PlacedListener = (sessionId: SessionId, node: string | null) => Effect.Effect<void, SessionBusy, Commit>

/** Says which node has the files of a session. On one machine everything is here, and there are no rows. */
export class Placements extends Context.Tag("@reins/core/placement/Placements")<
  Placements,
  {
    /** The place of a session's files. */
    readonly at: (sessionId: SessionId) => Effect.Effect<Place>
    /** Gives a session that is nowhere, sealed or lost to a node. Gives back its place, which is another one when another node was faster. */
    readonly place: (sessionId: SessionId, node: string) => Effect.Effect<Place, never, Commit>
    /** Notes that the files of a session that were awaited here are there. Dies with `NotOwner` when another node has the session by now. */
    readonly restored: (sessionId: SessionId) => Effect.Effect<void, never, Commit>
    /** Takes a session that was sealed from this node, so that the next need places it anew. Fails while work of the session runs. */
    readonly leave: (sessionId: SessionId) => Effect.Effect<void, SessionBusy, Commit>
    /** Gives those of these sessions that are nowhere to this node, because their files are on its disk, and tells which these are. */
    readonly adopt: (sessionIds: ReadonlyArray<SessionId>) => Effect.Effect<ReadonlyArray<SessionId>>
    /**
     * Gives a session that needs files to the node that suits it best, unless it has one. The node of a machine that was lost too long ago counts as
     * none. It stays where it is while no node takes it.
     */
    readonly settle: (sessionId: SessionId) => Effect.Effect<Place>
    /** True while the files are here and this process may act for its node. Nobody can place the session elsewhere until the commit is through. */
    readonly holds: (sessionId: SessionId) => Effect.Effect<boolean, never, Commit>
    /** Dies with `NotOwner` where `holds` is false. */
    readonly fence: (sessionId: SessionId) => Effect.Effect<void, never, Commit>
    /** The end of a condition, ` and ...`, by which a statement leaves out the sessions whose files are not here. Empty on one machine. */
    readonly isHere: (sessionId: Fragment) => Fragment
    /** The condition that work is pinned to the node that has the files of its session, and that this node is not given up. True on one machine. */
    readonly isSettled: (sessionId: Fragment, node: Fragment) => Fragment
    /**
     * Adds a listener that hears of the node of a session in the commit that places it or takes it away, and each time that somebody wants it placed.
     * It may object to its leaving.
     */
    readonly onPlaced: (listener: PlacedListener) => Effect.Effect<void>
    /** Gives a session that may soon get its first turn to a node, which is told of it by a ring. On one machine nothing is done. */
    readonly expect: (sessionId: SessionId) => Effect.Effect<void>
    /** Takes the sessions that this node was told to expect within the last minute. Each is given once. */
    readonly expected: Effect.Effect<ReadonlyArray<SessionId>>
    /** Forgets the place of a session that is deleted. */
    readonly remove: (sessionId: SessionId) => Effect.Effect<void, never, Commit>
    /** The sessions whose files this node has, oldest first. */
    readonly held: (limit: number) => Effect.Effect<ReadonlyArray<SessionId>>
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
        restored: () => Effect.void,
        leave: () => Effect.void,
        remove: () => Effect.void,
        expect: () => Effect.void,
        expected: Effect.succeed([]),
        held: () => Effect.succeed([]),
        adopt: () => Effect.succeed([]),
        settle: () => Effect.succeed(here),
        holds: () => Effect.succeed(true),
        fence: () => Effect.void,
        onPlaced: () => Effect.void,
        isHere: () => sql``,
        isSettled: () => sql`1 = 1`,
        describe: () => Effect.void
      })
    )
  )
}

/** One machine alone: its node without a name, with the files of every session. */
export const oneMachine = Layer.suspend(() => Layer.merge(Nodes.layerSingle, Placements.layerSingle))

const here = { kind: "here", node: null, epoch: 0, awaited: false } as const
