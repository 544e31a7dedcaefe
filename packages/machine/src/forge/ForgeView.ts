import type { OddElement } from "@reins/base/base/ForeignList"
import type { CheckIdentity } from "./CheckIdentity.js"
import type { ForgeCall, ForgeErrorKind, ForgeLimit, RemoteMergeRequest } from "./ForgeCalls.js"

/** The states of one check. `action_required`: it waits for a person. `skipped` counts neither for nor against. */
export type CheckState = "pending" | "passing" | "failing" | "cancelled" | "skipped" | "action_required"

/** The newest run of one check of a commit. */
export interface RemoteCheck {
  /** The same for all runs of the check on a commit, and for no other check. */
  readonly key: string
  /** The id of the run on the forge. */
  readonly run: string
  /** For people. Several checks may have it. */
  readonly name: string
  readonly identity: CheckIdentity
  readonly state: CheckState
  /** True when the forge lets it fail. */
  readonly optional: boolean
  readonly startedAt: string | null
  readonly endedAt: string | null
  /** Its page for people. */
  readonly url: string | null
}

export interface RemoteAuthor {
  readonly login: string
  /** True when the forge says that it is a program. */
  readonly isBot: boolean
}

/** The newest review of a person, or what the forge keeps in its place. */
export interface RemoteReview {
  readonly forgeId: string
  readonly author: RemoteAuthor
  readonly state: "approved" | "changes_requested" | "commented" | "dismissed"
  /** False when the forge says that it counts neither for nor against a merge; null where the forge does not tell. */
  readonly official: boolean | null
  /** The commit that was reviewed; undefined where the forge does not tell. */
  readonly headSha: string | undefined
  /** Empty when there is none. */
  readonly body: string
  readonly at: string | null
  readonly url: string | null
}

export interface RemoteComment {
  readonly forgeId: string
  readonly author: RemoteAuthor
  readonly body: string
  readonly at: string | null
  readonly url: string | null
}

/** A conversation, about a line where `path` is set. It has at least one comment, the oldest first. */
export interface RemoteThread {
  readonly forgeId: string
  readonly path: string | null
  readonly line: number | null
  /** `new` for a line of the head, `old` for one that it no longer has. Null for a whole file, too. */
  readonly side: "new" | "old" | null
  /** True when it is about another commit than the present head, or its line is gone. */
  readonly outdated: boolean
  /** Null for one that cannot be resolved. */
  readonly resolved: boolean | null
  readonly comments: ReadonlyArray<RemoteComment>
}

/** The word with which a forge says that it would not merge now. */
export interface RemoteObstacle {
  readonly word: string
  /** A sentence for people. */
  readonly say: string
}

/** A merge request with the words of the forge on conflicts, and on its merge. */
export interface RemoteStanding extends RemoteMergeRequest {
  /** Absent where the forge says nothing against the merge that the other fields do not say. */
  readonly obstacle?: RemoteObstacle
  /** `suspected`: the forge cannot merge it, or has not computed yet whether it can. */
  readonly conflicts: "none" | "conflicts" | "suspected" | "unknown"
}

/** A call of an earlier view, and the mark of its answer: an ETag of the forge, or else a digest. */
export interface MarkedCall {
  readonly call: ForgeCall
  readonly mark: string
}

/** The calls that a part was read with. `of` is the commit that it is about; empty for one that is about none. */
export interface PartMemory {
  readonly of: string
  readonly calls: ReadonlyArray<MarkedCall>
  /** The extra reads that the forge has refused for it. */
  readonly lacks?: ReadonlyArray<string>
}

/** The parts of a view. */
export type PartName = "request" | "checks" | "baseChecks" | "reviews" | "threads"

/** The memory of a view, for the next one with the same token. It is plain JSON. */
export interface ViewMemory {
  /** The form of what was read. A memory of another form is none, so that everything is read anew. */
  readonly form?: number
  /** The head that `request` had, and the branch that it is to be merged into. */
  readonly head?: string
  readonly base?: string
  /** True when a check of that head has failed which the forge does not let fail. */
  readonly isRed?: boolean
  readonly parts?: { readonly [Name in PartName]?: PartMemory }
  /** The extra reads that the forge has refused to the token, and when each is tried again, in milliseconds since 1970. */
  readonly refused?: Readonly<Record<string, number>>
}

/**
 * A part of a view.
 * - `read`: it differs from the part that the memory is of. `complete` is false when the forge has more than was read: more than the limits let
 *   through, or elements that cannot be read. `odd` has the first 50 of these.
 * - `unchanged`: it is as it was.
 * - `unread`: the forge did not show it, so nothing is known of it.
 */
export type ViewPart<A> =
  | { readonly state: "read"; readonly value: A; readonly complete: boolean; readonly odd: ReadonlyArray<OddElement> }
  | { readonly state: "unchanged" }
  | { readonly state: "unread"; readonly kind: ForgeErrorKind; readonly message: string }

/** All that a forge shows of a merge request, in one look. Checks are those of its head. */
export interface ForgeView {
  readonly request: Exclude<ViewPart<RemoteStanding>, { readonly state: "unread" }>
  readonly checks: ViewPart<ReadonlyArray<RemoteCheck>>
  /** The checks of the head of the base branch. Undefined while no check of the head has failed, and where the forge does not tell the branch. */
  readonly baseChecks: ViewPart<ReadonlyArray<RemoteCheck>> | undefined
  readonly reviews: ViewPart<ReadonlyArray<RemoteReview>>
  readonly threads: ViewPart<ReadonlyArray<RemoteThread>>
  readonly memory: ViewMemory
  /** The last word of the forge on how often it may be asked; undefined when it has said nothing. */
  readonly limit: ForgeLimit | undefined
}
