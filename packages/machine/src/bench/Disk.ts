import type { SessionId } from "@reins/base/domain/Ids"
import type { Effect } from "effect"
import type { GitError } from "../repository/run/GitError.js"
import type { DirectoryOwner } from "./OwnerMarks.js"

/** The sessions of which a bench has files. A name may be that of a session that no row tells of any more. */
export interface SessionsOnDisk {
  /** Those that it may work on. */
  readonly present: ReadonlyArray<string>
  /** Those whose files were moved away, because another machine had the session next. */
  readonly aside: ReadonlyArray<string>
}

/** The space that the files of sessions take, and what of them goes. */
export interface Disk {
  readonly list: Effect.Effect<SessionsOnDisk>
  /** Removes all files of a session, its captured changes too. What was moved away stays. */
  readonly discard: (session: SessionId) => Effect.Effect<void>
  /** Removes everything of a session, what was moved away too. */
  readonly forget: (session: SessionId) => Effect.Effect<void>
  /**
   * Moves the files of a session away: another machine has had it since they were written, so nobody uses them, and nobody deletes what may be the
   * only copy of something. Gives their new place, for people; null when there are none.
   */
  readonly setAside: (session: SessionId, epoch: number) => Effect.Effect<string | null>
  /** Removes the objects of other sessions that a process has left behind when it was killed. Nobody uses any meanwhile. */
  readonly dropScratch: Effect.Effect<void>
  /** Removes what setups and repositories have left for other sessions, and nobody has used for long. */
  readonly sweep: Effect.Effect<void>
  /** The projects and workspaces whose sessions have left something for others: files of setups, and stores of objects. */
  readonly owners: Effect.Effect<ReadonlyArray<DirectoryOwner>>
  /** Removes what sessions of these projects and workspaces have left for others. */
  readonly removeOwned: (ids: ReadonlyArray<string>) => Effect.Effect<void, GitError>
  /** The bytes of a session, without the objects that it shares with others. */
  readonly bytesOf: (session: SessionId) => Effect.Effect<number>
  /**
   * The bytes that each session has of the objects that it shares: those who share some have them in equal parts. They are counted anew where
   * sessions have come or gone, or may have changed.
   */
  readonly shares: (changed: ReadonlyArray<SessionId>) => Effect.Effect<Readonly<Record<string, number>>>
}
