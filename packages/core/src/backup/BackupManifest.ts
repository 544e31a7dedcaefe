import { Data, Schema } from "effect"

/** The form of the backups that this release writes, and the newest that it reads. */
export const backupFormat = 1

/** The name of the last entry of a backup. */
export const manifestName = "manifest.json"

const Part = Schema.Struct({ entries: Schema.Number, bytes: Schema.Number, digest: Schema.String })
/** A step of the schema that a database has taken. */
export const Step = Schema.Struct({ id: Schema.Number, name: Schema.String })

/** The description of a backup, which is its last entry. */
export const BackupManifest = Schema.Struct({
  format: Schema.Literal(backupFormat),
  release: Schema.String,
  created_at: Schema.String,
  /** `sqlite`: the backup holds the database. `postgresql`: it holds the files only, and a dump holds the database. */
  database: Schema.Literal("sqlite", "postgresql"),
  schema: Schema.Array(Step),
  /** The keys that the stored credentials are sealed with. */
  key_ids: Schema.Array(Schema.String),
  key_ring: Schema.Literal("included", "left_out"),
  parts: Schema.Record({ key: Schema.String, value: Part }),
  /** Sessions that were closed during the backup, so that their workspaces are not whole. */
  incomplete: Schema.Array(Schema.String),
  /** Sessions whose agent changed its own state while the state was copied. */
  unsettled: Schema.Array(Schema.String)
})
/** The description of a backup. */
export type BackupManifest = typeof BackupManifest.Type

/** A backup cannot be made or restored. `message` says why, and what to do next. */
export class BackupError extends Data.TaggedError("BackupError")<{ readonly message: string }> {}

/** The part that holds the files of a session. */
export const sessionPart = (id: string): string => `sessions/${id}`

/** The parts besides those of sessions. Each holds one file or directory, and `settings` those of `settingsFiles` that there are. */
export const parts = { database: "database", outbox: "outbox", keyRing: "keyring", settings: "settings" } as const
