import { Data, Schema } from "effect"

/** The newest form of backups that this release reads, and the one that it writes. */
export const backupFormat = 1

/** The last entry of a backup. */
export const manifestName = "manifest.json"

const Part = Schema.Struct({ entries: Schema.Number, bytes: Schema.Number, digest: Schema.String })
export const Step = Schema.Struct({ id: Schema.Number, name: Schema.String })

/** What a backup says of itself. */
export const BackupManifest = Schema.Struct({
  format: Schema.Literal(backupFormat),
  release: Schema.String,
  created_at: Schema.String,
  /** `sqlite`: the database is in the backup. `postgresql`: it holds the files alone, beside a dump. */
  database: Schema.Literal("sqlite", "postgresql"),
  schema: Schema.Array(Step),
  /** The keys that the stored credentials are sealed with. */
  key_ids: Schema.Array(Schema.String),
  key_ring: Schema.Literal("included", "left_out"),
  parts: Schema.Record({ key: Schema.String, value: Part }),
  /** Sessions that were closed while they were copied: their workspace is not whole. */
  incomplete: Schema.Array(Schema.String),
  /** Sessions whose agent wrote to its own state while that was copied. */
  unsettled: Schema.Array(Schema.String)
})
export type BackupManifest = typeof BackupManifest.Type

/** A backup that is not made, or one that is not restored. The message says why and what to do. */
export class BackupError extends Data.TaggedError("BackupError")<{ readonly message: string }> {}

export const sessionPart = (id: string): string => `sessions/${id}`

/** The parts besides those of sessions, and the file or directory that each holds. */
export const parts = { database: "database", outbox: "outbox", keyRing: "keyring" } as const
