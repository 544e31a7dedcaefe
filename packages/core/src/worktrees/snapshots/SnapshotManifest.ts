import type { BlobName } from "../../store/Blobs.js"

/** A part that no snapshot could take, for people: it is never left out in silence. */
export interface LeftOut {
  readonly path: string
  /** Null when nobody has counted them. */
  readonly bytes: number | null
  readonly reason: "too_large" | "unreadable" | "not_captured"
}

/** The parts of a snapshot, each a blob; null for a part that has nothing in it. */
export interface SnapshotBlobs {
  /** A bundle of git with the base. Null while the remote is to give it, and for a workspace that started empty. */
  readonly base: BlobName | null
  /** A bundle of git with the captured files and the changesets. */
  readonly work: BlobName
  /** The repository of the agent, without the packs of its clone. */
  readonly repository: BlobName | null
  /** The files of the workspace that git does not hold, and what the service keeps beside its git directory. */
  readonly files: BlobName | null
  /** Permissions beyond those that git knows. */
  readonly modes: BlobName | null
  /** The agent's own record of the conversation. */
  readonly state: BlobName | null
}

/** The parts of a snapshot, and the fields of the row of its session that go with it. */
export interface SnapshotManifest {
  readonly version: 1
  /** True when the session had its files. Of a closed one only the objects of git are left. */
  readonly has_files: boolean
  readonly base_commit: string | null
  /** The commit of the captured files; null without files. */
  readonly commit: string | null
  readonly blobs: SnapshotBlobs
  /** The native session that the record belongs to. */
  readonly native: { readonly session_id: string | null; readonly digest: string | null; readonly cost: number | null }
  readonly left_out: ReadonlyArray<LeftOut>
  /** The number of things that were left out beyond those that are listed. */
  readonly more_left_out: number
  /** The number of snapshots of the session up to this one. */
  readonly ordinal: number
}

/** The blobs that a snapshot needs. */
export const blobsOf = ({ blobs }: SnapshotManifest): ReadonlyArray<BlobName> =>
  Object.values(blobs).filter((blob): blob is BlobName => blob !== null)

/** The fields of a session that goes on from a snapshot. */
export const nativeFields = (native: SnapshotManifest["native"]) => ({
  native_session_id: native.session_id,
  native_candidate: null,
  native_digest: native.digest,
  native_cost: native.cost
})
