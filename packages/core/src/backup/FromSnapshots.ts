import { existsSync } from "node:fs"
import { Context, Effect, Layer } from "effect"
import { Access } from "../access/Access.js"
import type { BlobAddress } from "../base/BlobAddress.js"
import { CoreConfig } from "../base/CoreConfig.js"
import { archivesIn } from "../bench/Archives.js"
import { SharesObjects } from "../bench/ObjectStores.js"
import { restoreHere } from "../bench/snapshots/RestoreHere.js"
import { ConnectionKinds } from "../connections/ConnectionKinds.js"
import { ConnectionStore } from "../connections/ConnectionStore.js"
import { ValidationStore } from "../connections/ValidationStore.js"
import type { SessionId } from "../domain/Ids.js"
import { Forges } from "../forge/Forges.js"
import { Git } from "../git/Git.js"
import { Manifests } from "../harness/Manifests.js"
import { JobStore } from "../jobs/JobStore.js"
import { Outbound } from "../outbound/Outbound.js"
import { WayOut } from "../outbound/WayOut.js"
import { oneMachine } from "../placement/Placements.js"
import { ProjectStore } from "../projects/ProjectStore.js"
import { Projects } from "../projects/Projects.js"
import { KeyRing } from "../secrets/KeyRing.js"
import { newRing } from "../secrets/KeyRingFile.js"
import { Vault } from "../secrets/Vault.js"
import { SessionStore } from "../sessions/SessionStore.js"
import { Bell } from "../store/Bell.js"
import { Blobs } from "../store/Blobs.js"
import { Database } from "../store/Database.js"
import { Journal } from "../store/Journal.js"
import { AgentStateStore } from "../worktrees/AgentStateStore.js"
import { fileLocks } from "../worktrees/SessionLock.js"
import { makeSnapshotRestore } from "../worktrees/snapshots/SnapshotRestoring.js"
import { BackupError } from "./BackupManifest.js"

/** The services that make files of snapshots. None of them writes to the database. */
const services = (config: CoreConfig["Type"]) => {
  const given = Layer.mergeAll(Layer.succeed(CoreConfig, config), Bell.layer, fileLocks)
  // Without the keys a repository that asks for a credential cannot be fetched, and all others can.
  const keys = existsSync(config.keyFile) ? KeyRing.layerFile(config.keyFile) : KeyRing.layerOf(newRing())
  const git = Git.layerWith({ allowFile: config.allowLocalRepositories, allowSsh: config.allowSshRepositories })
  return Layer.mergeAll(
    Projects.layer,
    ConnectionStore.layer,
    ConnectionKinds.layer,
    Blobs.layer,
    AgentStateStore.layer
  ).pipe(
    Layer.provideMerge(Layer.mergeAll(SessionStore.layer, ProjectStore.layer, ValidationStore.layer, JobStore.layer)),
    Layer.provideMerge(Layer.mergeAll(Journal.layer, Access.layer, Layer.provide(Vault.layer, keys), Manifests.layer)),
    Layer.provideMerge(Layer.mergeAll(Forges.layer, Layer.provide(git, WayOut.layer), oneMachine)),
    Layer.provideMerge(Outbound.layer),
    Layer.provideMerge(given)
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
