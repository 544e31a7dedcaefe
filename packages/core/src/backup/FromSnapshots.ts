import type { BlobAddress } from "@reins/base/base/BlobAddress"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import type { SessionId } from "@reins/base/domain/Ids"
import { archivesIn } from "@reins/machine/bench/Archives"
import { SharesObjects } from "@reins/machine/bench/ObjectStores"
import { restoreHere } from "@reins/machine/bench/snapshots/RestoreHere"
import { Git } from "@reins/machine/git/Git"
import { Outbound } from "@reins/machine/outbound/Outbound"
import { WayOut } from "@reins/machine/outbound/WayOut"
import { Context, Effect, Layer } from "effect"
import { Bell } from "../store/Bell.js"
import { Blobs } from "../store/Blobs.js"
import { Database } from "../store/Database.js"
import { fileLocks } from "../worktrees/SessionLock.js"
import { makeSnapshotRestore } from "../worktrees/snapshots/SnapshotRestoring.js"
import { BackupError } from "./BackupManifest.js"
import { storedRows } from "./StoredRows.js"

/** The rows, the blobs and the machine that make files of snapshots. */
const services = (config: CoreConfig["Type"]) => {
  const git = Git.layerWith({ allowFile: config.allowLocalRepositories, allowSsh: config.allowSshRepositories })
  return storedRows(config).pipe(
    Layer.provideMerge(Layer.merge(Blobs.layer, Layer.provide(git, WayOut.layer))),
    Layer.provideMerge(Outbound.layer),
    Layer.provideMerge(Layer.mergeAll(Layer.succeed(CoreConfig, config), Bell.layer, fileLocks))
  )
}

/**
 * Makes the files of sessions from their snapshots, below a directory of its own. The database is only read, and the data directory of the
 * configuration is left alone. An effect of it fails with `SnapshotError` when a snapshot cannot be used.
 */
export const fromSnapshots = Effect.fnUntraced(function* (
  config: CoreConfig["Type"],
  blobs: BlobAddress,
  directory: string
) {
  const database = Layer.succeed(Database, yield* Database)
  const made = yield* Layer.build(Layer.provide(services({ ...config, blobs, dataDir: directory }), database)).pipe(
    Effect.mapError(({ message }) => new BackupError({ message }))
  )
  const restoring = Effect.flatMap(restoreHere, makeSnapshotRestore).pipe(
    // A backup holds each of these sessions whole.
    Effect.provideService(SharesObjects, false)
  )
  const { restore } = yield* Effect.provide(restoring, Context.add(made, Database, yield* Database))
  const archives = archivesIn(directory)
  return (id: SessionId) =>
    Effect.map(
      restore(id, () => Effect.void),
      (restored) => ({ ...restored, archives })
    )
})
