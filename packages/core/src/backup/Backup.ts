import { createHash, randomBytes } from "node:crypto"
import { existsSync } from "node:fs"
import * as fs from "node:fs/promises"
import { dirname, join } from "node:path"
import type { CoreConfig } from "@reins/base/base/CoreConfig"
import { fn } from "@reins/base/base/Traced"
import { now } from "@reins/base/domain/Timestamp"
import { archivesIn } from "@reins/machine/bench/Archives"
import { archiveWriter, type PartSummary } from "@reins/machine/files/Archive"
import { type DiskEntry, readOne, readTree } from "@reins/machine/files/TreeReader"
import { Array as Arr, Effect, Layer, Schema } from "effect"
import { Database } from "../store/Database.js"
import * as DatabaseFile from "../store/DatabaseFile.js"
import { databaseFile, settingsFiles } from "../store/DataDirectory.js"
import type { SealedValues } from "../store/SealedValues.js"
import { closedSessions, type SessionFacts } from "../worktrees/SessionFacts.js"
import { makeShared } from "../worktrees/SessionLock.js"
import {
  BackupError,
  BackupManifest,
  backupFormat,
  type Lack,
  manifestName,
  parts,
  sessionPart,
  storeIn,
  storePart
} from "./BackupManifest.js"
import { type Inventory, inventory } from "./Inventory.js"
import { type SessionSource, sessionSources } from "./SessionParts.js"

/** The installation to back up, and the file to write. */
export interface BackupRequest {
  readonly dataDir: string
  /** The settings of the installation, which name its store of blobs. */
  readonly config: CoreConfig["Type"]
  /** Reads every sealed value, for the names of their keys. */
  readonly sealed: SealedValues
  /** The key ring to put into the backup. Its holder can open the credentials with it. Undefined leaves the keys out. */
  readonly keyFile: string | undefined
  /** `postgresql` leaves the database out, because PostgreSQL's own tools have dumped it before. */
  readonly database: BackupManifest["database"]
  /** The path of the backup. Nothing may be there yet. */
  readonly target: string
  /** The release that makes the backup. */
  readonly release: string
  /**
   * Runs with a line for a person at the beginning of each step, and with the share of the work that is done by then, from 0 to 1, where it is
   * known. The step waits for it.
   */
  readonly progress: (line: string, share?: number) => Effect.Effect<void>
}

/** A finished backup. */
export interface BackupSummary {
  readonly file: string
  readonly bytes: number
  /** `sha256:<hex>` of the file. */
  readonly digest: string
  readonly manifest: BackupManifest
  /** The entries that could not be read and are not in the backup. */
  readonly skipped: ReadonlyArray<string>
}

/**
 * Writes a backup of an installation, while its server runs or not. The `Database` is the one that the server works on. Fails with
 * `BackupError`, and leaves no file behind.
 *
 * The database is copied first, as it is at one instant, and then the files that this copy names. A changeset is stored only after its
 * objects are pinned, so the files that the copy names are still there. Files that it does not name do no harm.
 */
export const backup = fn("Backup.backup")(function* (request: BackupRequest) {
  yield* refuseExisting(request.target)
  const mark = randomBytes(4).toString("hex")
  const partial = `${request.target}.${mark}.partial`
  const copied = `${request.target}.${mark}.database.partial`
  return yield* Effect.scoped(
    Effect.gen(function* () {
      if (request.database === "sqlite") yield* copyDatabase(request, copied)
      const known = inventory(request.sealed)
      const facts = yield* request.database === "sqlite" ? Effect.provide(known, asCopied(copied)) : known
      const file = yield* created(partial)
      const sources = yield* sessionSources(request, facts, `${request.target}.${mark}.sessions.partial`)
      const contents = yield* writeParts(request, { facts, sources, copied }, archiveWriter(file))
      yield* onDisk(`${request.target} cannot be written`, () => file.sync())
      yield* request.progress("checking what was written")
      const { bytes, digest } = yield* onDisk(`${partial} cannot be read`, () => digestOf(partial))
      yield* onDisk(`${request.target} cannot be written`, () => publish(partial, request.target))
      const summary: BackupSummary = { file: request.target, bytes, digest, ...contents }
      return summary
    }).pipe(Effect.ensuring(removed(copied)), Effect.ensuring(removed(partial)))
  )
})

const copyDatabase = Effect.fnUntraced(function* ({ dataDir, progress, target }: BackupRequest, copied: string) {
  yield* progress("copying the database")
  yield* onDisk(`${dirname(target)} cannot be written`, () => fs.writeFile(copied, "", { mode: 0o600 }))
  yield* DatabaseFile.copy(databaseFile(dataDir), copied).pipe(
    Effect.mapError(({ message }) => new BackupError({ message }))
  )
})

/** The sessions whose files are made of their snapshots at once. */
const madeAtOnce = 4

interface Contents {
  readonly facts: Inventory
  readonly sources: Effect.Effect.Success<ReturnType<typeof sessionSources>>
  /** The copy of the database. */
  readonly copied: string
}

/** Writes every part of the archive, and its manifest at the end. */
const writeParts = Effect.fnUntraced(function* (
  request: BackupRequest,
  { copied, facts, sources }: Contents,
  archive: ReturnType<typeof archiveWriter>
) {
  const summaries: Record<string, PartSummary> = {}
  const skipped: Array<string> = []
  const add = (part: string, entries: AsyncIterable<DiskEntry>) =>
    onDisk(`${request.target} cannot be written`, async () => {
      summaries[part] = await archive.writePart(part, entries)
    })

  if (request.database === "sqlite") yield* add(parts.database, readOne(copied, "reins.db"))
  // The keys come before the files. The files take long, and a rotation meanwhile may remove the keys that the database names.
  if (request.keyFile !== undefined) yield* add(parts.keyRing, readOne(request.keyFile, "keyring.json"))
  yield* add(parts.settings, settings(request.dataDir))
  const sessions = facts.sessions.filter(hasFiles)
  const lacks: Array<Lack> = []
  const unsettled: Array<string> = []
  const stores = new Set<string>()
  const fromSnapshots: Record<string, NonNullable<SessionSource["native"]>> = {}
  const write = Effect.fnUntraced(function* (session: SessionFacts, source: SessionSource) {
    const part = sessionPart(session.id)
    const { archives } = source
    const state = archives === null ? Effect.succeed(null) : archives.homeState(session.id)
    const before = yield* state
    const skip = (path: string) => void skipped.push(`${part}/${path}`)
    yield* add(
      part,
      archives === null ? none() : archives.entries(session.id, session.workspace_state === "ready", skip)
    )
    if (before !== null && (yield* state) !== before) unsettled.push(session.id)
    const store = archives === null ? null : yield* archives.storeOf(session.id)
    if (store !== null) stores.add(store)
    if (source.native !== null) fromSnapshots[session.id] = source.native
    const lack = source.lack ?? (source.native === null ? yield* sources.moved(session) : null)
    if (lack !== null) lacks.push(lack)
    yield* sources.drop(session, source)
  })
  let done = 0
  for (const some of Arr.chunksOf(sessions, madeAtOnce)) {
    const found = yield* Effect.forEach(some, sources.of, { concurrency: madeAtOnce })
    for (const [session, source] of Arr.zip(some, found)) {
      yield* request.progress(`session ${done + 1} of ${sessions.length}: ${session.id}`, done / sessions.length)
      yield* write(session, source)
      done++
    }
  }
  const closed = yield* closedSessions(yield* Database)
  const incomplete = sessions
    .filter(({ id, lifecycle }) => lifecycle !== "closed" && closed.has(id) && !(id in fromSnapshots))
    .map(({ id }) => id)
  // They come after the sessions, because objects are added to them and never taken away.
  const { store: storeOf } = archivesIn(request.dataDir)
  for (const name of [...stores].sort()) {
    yield* request.progress(`the objects of repositories: ${name.slice(0, 12)}`)
    const { alone, entries } = storeOf(name, storeIn, makeShared)
    yield* alone(Effect.either(add(storePart(name), entries))).pipe(
      Effect.mapError(({ message }) => new BackupError({ message: `${message} Back up again later.` })),
      Effect.flatten
    )
  }
  const outbox = join(request.dataDir, "outbox")
  yield* add(parts.outbox, readTree(outbox, "outbox", { leaveOut: (path) => path.endsWith(".tmp") }))

  // A workspace that is gone because its session was closed meanwhile is nowhere else.
  const known: ReadonlySet<string> = new Set(incomplete)
  const lacked = lacks.filter(({ session_id }) => !known.has(session_id))
  const manifest: BackupManifest = {
    format: stores.size === 0 ? 1 : backupFormat,
    release: request.release,
    created_at: yield* now,
    database: request.database,
    schema: facts.schema,
    min_release: facts.minRelease,
    key_ids: facts.keyIds,
    key_ring: request.keyFile === undefined ? "left_out" : "included",
    parts: summaries,
    incomplete,
    missing: lacked.filter(({ missing }) => missing).map(({ session_id }) => session_id),
    lacks: lacked,
    from_snapshots: fromSnapshots,
    unsettled
  }
  const text = yield* Effect.orDie(Schema.encode(Schema.parseJson(BackupManifest, { space: 2 }))(manifest))
  yield* onDisk(`${request.target} cannot be written`, () => archive.finish(manifestName, text))
  return { manifest, skipped }
})

const asCopied = (path: string) =>
  Layer.mapError(DatabaseFile.layer(path), ({ message }) => new BackupError({ message }))

/** False for a workspace that is still being made. A restore makes it anew, and half a workspace would be in the way. */
const hasFiles = (session: SessionFacts): boolean =>
  session.workspace_state === "ready" || session.workspace_state === "removed"

/** The files of `settingsFiles` that there are. */
async function* settings(dataDir: string) {
  for (const name of Object.values(settingsFiles)) {
    const file = join(dataDir, name)
    if (existsSync(file)) yield* readOne(file, name)
  }
}

async function* none(): AsyncGenerator<DiskEntry> {}

const onDisk = <A>(what: string, run: () => Promise<A>): Effect.Effect<A, BackupError> =>
  Effect.tryPromise({
    try: run,
    catch: (cause) => new BackupError({ message: `${what}: ${cause instanceof Error ? cause.message : String(cause)}` })
  })

const refuseExisting = (target: string) =>
  Effect.flatMap(
    Effect.promise(() =>
      fs.lstat(target).then(
        () => true,
        () => false
      )
    ),
    (there) =>
      there
        ? Effect.fail(
            new BackupError({
              message: `${target} is there already. Name a file that does not exist yet, or a directory.`
            })
          )
        : Effect.void
  )

const created = (path: string) =>
  Effect.acquireRelease(
    onDisk(`${path} cannot be made`, () => fs.open(path, "wx", 0o600)),
    (file) => Effect.promise(() => file.close())
  )

const removed = (path: string) => Effect.promise(() => fs.rm(path, { force: true }).catch(() => undefined))

const digestOf = async (path: string): Promise<{ readonly bytes: number; readonly digest: string }> => {
  const hash = createHash("sha256")
  let bytes = 0
  const file = await fs.open(path)
  for await (const piece of file.createReadStream()) {
    hash.update(piece)
    bytes += piece.length
  }
  return { bytes, digest: `sha256:${hash.digest("hex")}` }
}

/** Gives the finished file its name. */
const publish = async (partial: string, target: string): Promise<void> => {
  await fs.rename(partial, target)
  const directory = await fs.open(dirname(target))
  await directory.sync()
  await directory.close()
}
