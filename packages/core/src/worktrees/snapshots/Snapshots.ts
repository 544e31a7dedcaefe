import type { ChangesetId, SessionId, SnapshotId, TurnId, UploadId } from "@reins/base/domain/Ids"
import type { Timestamp } from "@reins/base/domain/Timestamp"
import type { UploadPlace } from "@reins/base/domain/UploadPlace"
import type { LeftOut } from "@reins/machine/bench/snapshots/SnapshotManifest"
import { SnapshotError } from "@reins/machine/bench/snapshots/TreeSnapshots"
import type { ObjectSource } from "@reins/machine/bench/TreeOrder"
import { Context, Effect, Layer, type Scope } from "effect"
import type { SessionRow } from "../../sessions/rows/SessionRow.js"
import type { Commit } from "../../store/Commit.js"
import type { Unsealed } from "./SnapshotStore.js"

const noStore = new SnapshotError({
  message: "There is no store of blobs: name it with REINS_BLOBS.",
  retryable: false
})

/** The snapshot that a session was restored from. */
export interface Restored {
  readonly snapshot_id: SnapshotId
  /** The turn after which it was taken; null when it was not taken after one. */
  readonly turn_id: TurnId | null
  readonly created_at: Timestamp
  /** The things that the snapshot lacks, in its own words. */
  readonly left_out: ReadonlyArray<LeftOut>
  readonly more_left_out: number
  /** Paths that the snapshot has and that could not be written. */
  readonly skipped: ReadonlyArray<string>
  /** The newest turn that has ended and whose work the snapshot lacks, because its machine was lost before; null when it has all. */
  readonly lost_turn: TurnId | null
  /** The number of files that were uploaded after the snapshot and put back. */
  readonly uploads: number
}

/** A file that is about to be written to a workspace, or beside it. */
export interface NewUpload {
  readonly place: UploadPlace
  /** Null for the usual permissions. */
  readonly mode: number | null
  readonly bytes: Uint8Array
}

/**
 * Snapshots of the files of sessions: the working tree, the changesets and the agent's own record, kept where the loss of a machine takes nothing
 * away. An installation without a store of blobs has none, and nothing is written for them there.
 */
export class Snapshots extends Context.Tag("@reins/core/worktrees/snapshots/Snapshots")<
  Snapshots,
  {
    /** True where there is a store of blobs. */
    readonly isKept: boolean
    /** Notes in the commit that changes the files of a session that it is to be sealed anew, by a job. */
    readonly changed: (sessionId: SessionId) => Effect.Effect<void, never, Commit>
    /**
     * Seals a session unless its newest snapshot has everything. The caller has the workspace to itself, and no turn runs in it. The snapshot
     * counts once this has succeeded.
     */
    readonly seal: (sessionId: SessionId) => Effect.Effect<void, SnapshotError>
    /** The same for a session that may have changed without a note, as when its agent was stopped. */
    readonly sealAnew: (sessionId: SessionId) => Effect.Effect<void, SnapshotError>
    /** The same ahead of a turn, which goes on when that fails: the failure is noted, and the job tries on. */
    readonly sealBefore: (sessionId: SessionId) => Effect.Effect<void>
    /** The job of a session has ended without a snapshot, because what follows asks for one. */
    readonly leave: (sessionId: SessionId, jobId: string) => Effect.Effect<void, never, Commit>
    /**
     * Keeps the bytes of an upload. The command notes them in the commit of the upload, with the path of the file; they are for restores until a
     * snapshot has the file, and always for an attachment.
     */
    readonly keepUpload: (
      sessionId: SessionId,
      upload: NewUpload
    ) => Effect.Effect<(uploadId: UploadId, path: string) => Effect.Effect<void, never, Commit>, SnapshotError>
    /**
     * Keeps the objects of a changeset that was captured and is not ready yet. The command notes them in the commit that makes it ready; they
     * are for restores until a snapshot has them. What cannot be kept is told in the log, and the next snapshot has it.
     */
    readonly keepChangeset: (
      session: SessionRow,
      changesetId: ChangesetId
    ) => Effect.Effect<Effect.Effect<void, never, Commit>>
    /**
     * Makes the files of a session from its newest snapshot, with what was uploaded and captured since, and sets the session to the native session that the
     * snapshot has. The caller has the session to itself, and nothing is at its paths but what an earlier restore has begun. Fails when something is,
     * and when there is no snapshot.
     */
    readonly restore: (sessionId: SessionId) => Effect.Effect<Restored, SnapshotError>
    /** True for a session that has changed since its newest snapshot. */
    readonly isUnsealed: (sessionId: SessionId) => Effect.Effect<boolean>
    /** True for a session that has a snapshot. */
    readonly exists: (sessionId: SessionId) => Effect.Effect<boolean>
    /** True for a session whose newest snapshot lacks no file that it had. */
    readonly isWhole: (sessionId: SessionId) => Effect.Effect<boolean>
    /**
     * The base and the changesets of a session whose files another node has, as its newest snapshot has them. They go with the scope.
     */
    readonly objects: (sessionId: SessionId) => Effect.Effect<ObjectSource, SnapshotError, Scope.Scope>
    /** Puts back what is stored apart from snapshots, in a workspace that was made anew because there is none: changesets and uploads. */
    readonly restoreApart: (sessionId: SessionId) => Effect.Effect<void, SnapshotError>
    /** Deletes blobs that no snapshot and no upload needs. Nothing that is being sealed is among them. */
    readonly collect: Effect.Effect<void>
    /** Deletes all snapshots of a session, and the blobs that nothing else needs. It can be repeated. */
    readonly forget: (sessionId: SessionId) => Effect.Effect<void, SnapshotError>
    /** The sessions that have changed since their newest snapshot. */
    readonly unsealed: Effect.Effect<Unsealed>
  }
>() {
  /** No snapshots. `KeptSnapshots` has the layer that keeps some. */
  static readonly layerNone = Layer.succeed(
    Snapshots,
    Snapshots.of({
      isKept: false,
      changed: () => Effect.void,
      seal: () => Effect.void,
      sealAnew: () => Effect.void,
      sealBefore: () => Effect.void,
      leave: () => Effect.void,
      keepUpload: () => Effect.succeed(() => Effect.void),
      restore: () => noStore,
      isUnsealed: () => Effect.succeed(false),
      exists: () => Effect.succeed(false),
      isWhole: () => Effect.succeed(false),
      objects: () => noStore,
      restoreApart: () => Effect.void,
      keepChangeset: () => Effect.succeed(Effect.void),
      collect: Effect.void,
      forget: () => Effect.void,
      unsealed: Effect.succeed({ sessions: 0, since: null, error: null })
    })
  )
}
