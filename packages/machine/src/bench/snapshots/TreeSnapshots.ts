import { ChangesetId, type SessionId } from "@reins/base/domain/Ids"
import { UploadPlace } from "@reins/base/domain/UploadPlace"
import { Data, type Effect, Schema, type Scope, type Stream } from "effect"
import type { GitCredential } from "../../repository/remote/RemoteUrl.js"
import type { GitError } from "../../repository/run/GitError.js"
import { type ObjectSource, TreeOrigin } from "../TreeOrder.js"
import { LeftOut, type PartBlob, SnapshotManifest, snapshotParts } from "./SnapshotManifest.js"

/** A snapshot could not be taken or used. `message` is for people and tells what to do next. A `retryable` failure may pass. */
export class SnapshotError extends Data.TaggedError("SnapshotError")<{
  readonly message: string
  readonly retryable: boolean
}> {}

/** A session that is to be sealed. */
export const SealOrder = Schema.Struct({
  ...TreeOrigin.fields,
  /** The provider of its agent, whose own record is sealed too. */
  provider: Schema.String,
  /** True while the session has its working tree. */
  hasFiles: Schema.Boolean,
  /** The number of this snapshot among those of the session. */
  ordinal: Schema.Int,
  /** True when the base need not be sealed, because an earlier snapshot has it. */
  hasBase: Schema.Boolean
})
export type SealOrder = typeof SealOrder.Type

/** The parts of a snapshot as they were made. Without `work` there is nothing of the session to keep. */
export const SealedTree = Schema.Struct({
  blobs: Schema.Struct(snapshotParts),
  commit: Schema.NullOr(Schema.String),
  nativeDigest: Schema.NullOr(Schema.String),
  leftOut: Schema.Array(LeftOut),
  moreLeftOut: Schema.Int
})
export type SealedTree = typeof SealedTree.Type

/** The parts that a bench makes: those of a snapshot, and the objects of one changeset. */
export const SealedPart = Schema.Literal("base", "work", "repository", "files", "modes", "state", "changeset")
export type SealedPart = typeof SealedPart.Type

/** The changesets and uploads that no snapshot has, and the attachments, which no snapshot ever has. */
export const PartsApart = Schema.Struct({
  changesets: Schema.Array(Schema.Struct({ changeset_id: ChangesetId, digest: Schema.String })),
  /** The mode is null for the usual permissions. */
  uploads: Schema.Array(
    Schema.Struct({
      path: Schema.String,
      place: UploadPlace,
      mode: Schema.NullOr(Schema.Int),
      digest: Schema.String
    })
  )
})
export type PartsApart = typeof PartsApart.Type

/** A session whose files, or objects, are to be made from a snapshot. */
export const RestoreOrder = Schema.Struct({
  ...TreeOrigin.fields,
  manifest: SnapshotManifest,
  apart: PartsApart,
  /** True when the session is to have its working tree again. */
  hasFiles: Schema.Boolean,
  /** True when the session owes what its setup leaves and the snapshot lacks. */
  owesSetup: Schema.Boolean
})
export type RestoreOrder = typeof RestoreOrder.Type

/** The questions of a bench that restores. */
export interface RestoreEar {
  /** The bytes of a blob. The stream fails unless they are those that the digest names. */
  readonly blob: (digest: string) => Stream.Stream<Uint8Array, SnapshotError>
  /** The credential for the repository; undefined for none. It is asked for where the remote has the base. */
  readonly credential: Effect.Effect<GitCredential | undefined, GitError>
  /** All files are there. They count once this has succeeded, and until then another restore begins anew. */
  readonly made: Effect.Effect<void>
}

/** The files of sessions as parts that outlive the machine. The caller lets nobody else change or capture the files meanwhile. */
export interface TreeSnapshots {
  /** Makes the parts of a session, which are there until the scope closes. Null for a session that has nothing on this bench. */
  readonly seal: (order: SealOrder) => Effect.Effect<SealedTree | null, SnapshotError, Scope.Scope>
  /** Makes the objects of a changeset into a part, which is there until the scope closes. */
  readonly sealChangeset: (
    session: SessionId,
    base: string | null,
    changeset: ChangesetId
  ) => Effect.Effect<PartBlob, SnapshotError, Scope.Scope>
  /** The bytes of a part that was made and is still there. */
  readonly read: (session: SessionId, part: SealedPart) => Stream.Stream<Uint8Array, SnapshotError>
  /**
   * Makes the files of a session. Nothing may be at its paths but what an earlier restore has begun. Gives the paths that the snapshot has and that
   * could not be written.
   */
  readonly restore: (order: RestoreOrder, ear: RestoreEar) => Effect.Effect<ReadonlyArray<string>, SnapshotError>
  /** Makes the objects of a session whose files another machine has. They go with the scope. */
  readonly objects: (
    order: RestoreOrder,
    ear: Pick<RestoreEar, "blob" | "credential">
  ) => Effect.Effect<ObjectSource, SnapshotError, Scope.Scope>
  /** Adds what no snapshot has to the files of a session. */
  readonly add: (
    session: SessionId,
    apart: PartsApart,
    ear: Pick<RestoreEar, "blob">
  ) => Effect.Effect<void, SnapshotError>
}
