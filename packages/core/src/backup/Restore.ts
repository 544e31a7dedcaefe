import { existsSync } from "node:fs"
import * as fs from "node:fs/promises"
import { dirname, join } from "node:path"
import { makeDirectory } from "@reins/base/base/MakeDirectory"
import { makePrivateDirectory } from "@reins/base/base/PrivateDirectory"
import { fn } from "@reins/base/base/Traced"
import { archivesIn } from "@reins/machine/bench/Archives"
import { ArchiveDamaged, partDigest, readArchive } from "@reins/machine/files/Archive"
import { storesIn } from "@reins/machine/repository/objects/StorePlace"
import { Effect, Layer, Schema } from "effect"
import type { Database } from "../store/Database.js"
import * as DatabaseFile from "../store/DatabaseFile.js"
import { databaseFile, restoreMarker, serverLock, settingsFiles } from "../store/DataDirectory.js"
import { requireUsable } from "../store/Migrations.js"
import type { SealedValues } from "../store/SealedValues.js"
import { BackupError, BackupManifest, explained, manifestName, parts, storeIn, storePart } from "./BackupManifest.js"
import { inventory } from "./Inventory.js"
import { commands, reconcile, withoutNodes } from "./Reconciling.js"
import { keysFor, stagedRing } from "./RestoredKeys.js"
import { treeWriter } from "./TreeWriter.js"

/** The backup, and the place that it is restored into. Paths are absolute. */
export interface RestoreRequest {
  /** Reads every sealed value, for the names of their keys. */
  readonly sealed: SealedValues
  readonly file: string
  /** An empty directory, or one that does not exist yet. */
  readonly dataDir: string
  /** The path at which the server will look for its key ring. */
  readonly keyFile: string
  /** The path of a key ring that was kept apart from the backup. */
  readonly keyRing: string | undefined
  /** Gives up the credentials whose keys are not found. */
  readonly withoutKeys: boolean
  /** The database that a dump was restored into. Undefined for SQLite, whose database is in the backup. */
  readonly database: Layer.Layer<Database, { readonly message: string }> | undefined
  /** Is called with a line for a person at each step. */
  readonly progress: (line: string) => void
}

/** Reads the manifest of a backup without its content. Fails for a file that is cut off, is no backup, or needs a newer release. */
export const readManifest = fn("Restore.readManifest")((path: string) =>
  Effect.scoped(
    Effect.gen(function* () {
      const file = yield* opened(path)
      const text = yield* readPart(path, async () => {
        for await (const entry of readArchive(file))
          if (entry.path === manifestName) return (await collect(entry.content())).toString("utf8")
        throw new ArchiveDamaged("it has no manifest")
      })
      const said = yield* Effect.mapError(Schema.decodeUnknown(FormatOnly)(text), () => damaged(path, "no manifest"))
      const manifest = yield* Effect.mapError(
        Schema.decodeUnknown(Schema.parseJson(BackupManifest))(text),
        () =>
          new BackupError({
            message: `${path} is a backup of format ${said.format}, made by release ${said.release}; this release cannot read it. Restore it with that release.`
          })
      )
      const state = { schema: manifest.schema, minRelease: manifest.min_release }
      yield* Effect.mapError(requireUsable(state), ({ message }) => new BackupError({ message }))
      return manifest
    })
  )
)

/**
 * Restores a backup into an empty data directory, which it locks meanwhile. Everything is written to a directory that no server works on, and
 * is moved into place when all of it is there and checked. Gives back the missing keys: none, unless they were given up. Fails with
 * `BackupError`, and leaves nothing behind.
 */
export const restore = fn("Restore.restore")(function* (request: RestoreRequest) {
  const manifest = yield* readManifest(request.file)
  yield* requireMatch(request, manifest)
  const stage = restoreMarker(request.dataDir)
  return yield* Effect.scoped(
    Effect.gen(function* () {
      yield* takeDirectory(request)
      yield* onDisk(async () => {
        await fs.rm(stage, { recursive: true, force: true })
        await fs.mkdir(stage, { mode: 0o700 })
      })
      return yield* Effect.onError(put(request, manifest, stage), () =>
        Effect.promise(() => fs.rm(stage, { recursive: true, force: true }).catch(() => undefined))
      )
    })
  )
})

const put = Effect.fnUntraced(function* (request: RestoreRequest, manifest: BackupManifest, stage: string) {
  yield* extract(request, manifest, stage)
  const staged = join(stage, parts.database, "reins.db")
  if (request.database === undefined) {
    request.progress("checking the database")
    const problems = yield* Effect.mapError(DatabaseFile.problems(staged), explained)
    if (problems.length > 0) return yield* damaged(request.file, `its database is damaged: ${problems[0]}`)
  }
  const database = Layer.mapError(request.database ?? DatabaseFile.layer(staged), explained)
  const facts = yield* Effect.provide(inventory(request.sealed), database)
  if (facts.hasNodes) yield* Effect.provide(withoutNodes, database)
  const missingKeys = yield* keysFor(request, manifest, facts, stage)
  request.progress("bringing the database and the files together")
  yield* Effect.provide(reconcile(stage, manifest, facts), commands(database))
  yield* archivesIn(stage)
    .moveStores(request.dataDir)
    .pipe(
      Effect.catchTags({
        GitError: explained,
        BeneathError: ({ reason }) =>
          new BackupError({
            message: `The repository of an agent could not be given its objects (${reason}): restore again.`
          })
      })
    )
  yield* onDisk(() => moveIntoPlace(request, stage))
  return { manifest, missingKeys, sessions: facts.sessions.length }
})

/** Locks a data directory. Fails when it holds more than a key ring and the remains of a restore that was broken off. */
const takeDirectory = Effect.fnUntraced(function* ({ dataDir, keyFile }: RestoreRequest) {
  yield* onDisk(async () => makePrivateDirectory(dataDir))
  const lock = serverLock(dataDir)
  yield* DatabaseFile.hold(lock).pipe(
    Effect.catchTags({
      LockHeld: () => new BackupError({ message: `A Reins server uses ${dataDir}. Restore into an empty directory.` }),
      DatabaseFileError: (error) => explained(error)
    })
  )
  const allowed = new Set([lock, keyFile, restoreMarker(dataDir), join(dataDir, "lost+found")])
  const names = yield* onDisk(() => fs.readdir(dataDir))
  const other = names.find((name) => !allowed.has(join(dataDir, name)))
  if (other === undefined) return
  return yield* new BackupError({
    message: `${dataDir} is not empty: it holds ${other}. Restore into an empty directory with --data-dir.`
  })
})

const FormatOnly = Schema.parseJson(Schema.Struct({ format: Schema.Number, release: Schema.String }))

const requireMatch = (request: RestoreRequest, manifest: BackupManifest) => {
  if (manifest.database === "postgresql" && request.database === undefined)
    return new BackupError({
      message:
        "The backup holds the files of an installation on PostgreSQL. Restore its dump first, as in pg_restore --no-owner " +
        `--exit-on-error --dbname="\${REINS_DATABASE_URL:?}" reins.dump, then give --database-url or REINS_DATABASE_URL here.`
    })
  if (manifest.database === "sqlite" && request.database !== undefined)
    return new BackupError({ message: "The backup holds an SQLite database. Restore it without a --database-url." })
  return Effect.void
}

const extract = (request: RestoreRequest, manifest: BackupManifest, stage: string) =>
  Effect.scoped(
    Effect.gen(function* () {
      const file = yield* opened(request.file)
      yield* readPart(request.file, async () => {
        const names = Object.keys(manifest.parts)
        const digests = new Map(names.map((name) => [name, partDigest()]))
        const writer = treeWriter(stage)
        let last = ""
        for await (const entry of readArchive(file)) {
          if (entry.path === manifestName) break
          const name = names.find((part) => entry.path.startsWith(`${part}/`))
          const digest = name === undefined ? undefined : digests.get(name)
          if (name === undefined || digest === undefined)
            throw new ArchiveDamaged("it holds what its manifest does not name")
          if (name !== last) request.progress(`restoring ${name}`)
          last = name
          const path = entry.path.slice(name.length + 1)
          digest.begin({ ...entry, path })
          await writer.put(`${name}/${path}`, entry, digest.content)
        }
        for (const [name, digest] of digests) {
          const found = digest.end()
          const said = manifest.parts[name]
          if (found.digest !== said?.digest || found.entries !== said.entries)
            throw new ArchiveDamaged(`what it holds of ${name} is not what was backed up`)
        }
        await writer.finish()
      })
    })
  )

/** Moves everything into place, the database last: a directory without a database is no installation yet. */
const moveIntoPlace = async (request: RestoreRequest, stage: string): Promise<void> => {
  const moveIfThere = async (from: string, to: string) => {
    if (existsSync(from)) await fs.rename(from, to)
  }
  await moveIfThere(join(stage, "sessions"), join(request.dataDir, "sessions"))
  await moveIfThere(join(stage, parts.outbox, "outbox"), join(request.dataDir, "outbox"))
  for (const name of await fs.readdir(join(stage, "object-stores")).catch((): Array<string> => [])) {
    await fs.mkdir(storesIn(request.dataDir), { recursive: true, mode: 0o700 })
    await moveIfThere(join(stage, storePart(name), storeIn), join(storesIn(request.dataDir), name))
  }
  for (const name of Object.values(settingsFiles))
    await moveIfThere(join(stage, parts.settings, name), join(request.dataDir, name))
  if (existsSync(stagedRing(stage))) {
    // The key ring may have its place on another file system, so it is copied.
    makeDirectory(dirname(request.keyFile), 0o700)
    await fs.copyFile(stagedRing(stage), request.keyFile)
    await fs.chmod(request.keyFile, 0o600)
  }
  await moveIfThere(join(stage, parts.database, "reins.db"), databaseFile(request.dataDir))
  await fs.rm(stage, { recursive: true })
  const directory = await fs.open(request.dataDir)
  await directory.sync()
  await directory.close()
}

const opened = (path: string) =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: () => fs.open(path),
      catch: (cause) => new BackupError({ message: `${path} cannot be read: ${textOf(cause)}` })
    }),
    (file) => Effect.promise(() => file.close())
  )

const readPart = <A>(path: string, run: () => Promise<A>): Effect.Effect<A, BackupError> =>
  Effect.tryPromise({
    try: run,
    catch: (cause) =>
      cause instanceof ArchiveDamaged
        ? damaged(path, cause.message)
        : new BackupError({ message: `The backup cannot be restored: ${textOf(cause)}` })
  })

const onDisk = <A>(run: () => Promise<A>): Effect.Effect<A, BackupError> =>
  Effect.tryPromise({
    try: run,
    catch: (cause) => new BackupError({ message: `The data directory cannot be written: ${textOf(cause)}` })
  })

const damaged = (path: string, how: string) =>
  new BackupError({ message: `${path} is not a whole backup: ${how}. Nothing was restored. Use another one.` })

const textOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

const collect = async (pieces: AsyncIterable<Uint8Array>): Promise<Buffer> => {
  const all: Array<Uint8Array> = []
  for await (const piece of pieces) all.push(piece)
  return Buffer.concat(all)
}
