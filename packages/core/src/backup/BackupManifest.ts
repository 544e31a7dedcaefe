import { Data, Schema } from "effect"

/** The newest form of the backups that this release writes and reads: one with object stores. One without any has the form of before. */
export const backupFormat = 2

/** The name of the last entry of a backup. */
export const manifestName = "manifest.json"

const Part = Schema.Struct({ entries: Schema.Number, bytes: Schema.Number, digest: Schema.String })
/** A step of the schema that a database has taken. */
export const TakenStep = Schema.Struct({ id: Schema.Number, name: Schema.String })

/** The things that a backup lacks of a session. */
export const Lack = Schema.Struct({
  session_id: Schema.String,
  /** The node that has its files; null where no node has them. */
  node: Schema.NullOr(Schema.String),
  /** True when the backup has no files of it, and `why` says the reason. Otherwise it has those of the newest snapshot. */
  missing: Schema.Boolean,
  why: Schema.NullOr(Schema.String),
  /** A turn was running or about to run. */
  running: Schema.Boolean,
  /** The time of the first change that the snapshot lacks; null when it has all. */
  unsealed_since: Schema.NullOr(Schema.String),
  /** The paths that the snapshot left out, up to 200, and the number of the others. */
  left_out: Schema.Array(Schema.String),
  more_left_out: Schema.Number
})
/** The things that a backup lacks of a session. */
export type Lack = typeof Lack.Type

/** The native session that goes with the files of a snapshot. */
const Native = Schema.Struct({
  session_id: Schema.NullOr(Schema.String),
  digest: Schema.NullOr(Schema.String),
  cost: Schema.NullOr(Schema.Number)
})

/** The description of a backup, which is its last entry. */
export const BackupManifest = Schema.Struct({
  format: Schema.Literal(1, backupFormat),
  release: Schema.String,
  created_at: Schema.String,
  /** `sqlite`: the backup holds the database. `postgresql`: it holds the files only, and a dump holds the database. */
  database: Schema.Literal("sqlite", "postgresql"),
  schema: Schema.Array(TakenStep),
  /** The oldest release that works with the database. */
  min_release: Schema.optionalWith(Schema.NullOr(Schema.String), { default: () => null }),
  /** The keys that the stored credentials are sealed with. */
  key_ids: Schema.Array(Schema.String),
  key_ring: Schema.Literal("included", "left_out"),
  parts: Schema.Record({ key: Schema.String, value: Part }),
  /** Sessions that were closed during the backup, so that their workspaces are not whole. */
  incomplete: Schema.Array(Schema.String),
  /** Sessions whose files were neither all in the data directory nor in a snapshot, so that they are not in the backup. */
  missing: Schema.optionalWith(Schema.Array(Schema.String), { default: () => [] }),
  /** Everything that the backup lacks, for people. The sessions that are `missing` are among them. */
  lacks: Schema.optionalWith(Schema.Array(Lack), { default: () => [] }),
  /** The sessions whose files are those of their newest snapshots, because another node had them. */
  from_snapshots: Schema.optionalWith(Schema.Record({ key: Schema.String, value: Native }), { default: () => ({}) }),
  /** Sessions whose agent changed its own state while the state was copied. */
  unsettled: Schema.Array(Schema.String)
})
/** The description of a backup. */
export type BackupManifest = typeof BackupManifest.Type

/** A backup cannot be made or restored. `message` says why, and what to do next. */
export class BackupError extends Data.TaggedError("BackupError")<{ readonly message: string }> {}

/** Says the message of another failure as a failure of a backup. */
export const explained = ({ message }: { readonly message: string }) => new BackupError({ message })

/** The part that holds the files of a session. */
export const sessionPart = (id: string): string => `sessions/${id}`

/** The part that holds an object store, which is its directory `storeIn`. */
export const storePart = (name: string): string => `object-stores/${name}`

/** The directory in the part of an object store. */
export const storeIn = "store"

/** The parts besides those of sessions and object stores. Each holds one file or directory, and `settings` those of `settingsFiles` that there are. */
export const parts = { database: "database", outbox: "outbox", keyRing: "keyring", settings: "settings" } as const
