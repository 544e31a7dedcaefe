import { Schema } from "effect"

const nullable = Schema.NullOr

/** The content of a part, by its digest `sha256:<hex>`, with its size in bytes. */
export const PartBlob = Schema.Struct({ digest: Schema.String, size: Schema.Int })
export type PartBlob = typeof PartBlob.Type

/** A thing that no snapshot could take, for people: it is never left out in silence. */
export const LeftOut = Schema.Struct({
  path: Schema.String,
  /** Null when nobody has counted them. */
  bytes: nullable(Schema.Int),
  reason: Schema.Literal("too_large", "unreadable", "not_captured")
})
export type LeftOut = typeof LeftOut.Type

/** The parts of a snapshot, each a blob; null for a part that has nothing in it. */
export const snapshotParts = {
  /** A bundle of git with the base. Null while the remote is to give it, and for a workspace that started empty. */
  base: nullable(PartBlob),
  /** A bundle of git with the captured files and the changesets. */
  work: nullable(PartBlob),
  /** The repository of the agent, without the packs of its clone. */
  repository: nullable(PartBlob),
  /** The files of the workspace that git does not hold, and what the service keeps beside its git directory. */
  files: nullable(PartBlob),
  /** Permissions beyond those that git knows. */
  modes: nullable(PartBlob),
  /** The agent's own record of the conversation. */
  state: nullable(PartBlob)
} as const

/** The parts of a snapshot, and the fields of the row of its session that go with it. */
export const SnapshotManifest = Schema.Struct({
  version: Schema.Literal(1),
  /** True when the session had its files. Of a closed one only the objects of git are left. */
  has_files: Schema.Boolean,
  base_commit: nullable(Schema.String),
  /** The commit of the captured files; null without files. */
  commit: nullable(Schema.String),
  blobs: Schema.Struct({ ...snapshotParts, work: PartBlob }),
  /** The native session that the record belongs to. */
  native: Schema.Struct({
    session_id: nullable(Schema.String),
    digest: nullable(Schema.String),
    cost: nullable(Schema.Number)
  }),
  left_out: Schema.Array(LeftOut),
  /** The number of things that were left out beyond those that are listed. */
  more_left_out: Schema.Int,
  /** The number of snapshots of the session up to this one. */
  ordinal: Schema.Int
})
export type SnapshotManifest = typeof SnapshotManifest.Type

/** The blobs that a snapshot needs. */
export const blobsOf = ({ blobs }: SnapshotManifest): ReadonlyArray<PartBlob> =>
  Object.values(blobs).filter((blob) => blob !== null)
