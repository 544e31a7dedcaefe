import { createHash, randomBytes } from "node:crypto"
import * as fs from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import { Effect, Layer, Schema } from "effect"
import { fn } from "../base/Traced.js"
import { now } from "../domain/Timestamp.js"
import { sessionPaths } from "../sessions/SessionPaths.js"
import * as DatabaseFile from "../store/DatabaseFile.js"
import { databaseFile } from "../store/DataDirectory.js"
import { archiveWriter, type PartSummary } from "./Archive.js"
import { BackupError, BackupManifest, backupFormat, manifestName, parts, sessionPart } from "./BackupManifest.js"
import { closedSessions, inventory, type SessionFacts } from "./Inventory.js"
import { readOne, readTree, type TreeEntry, type TreeOptions, treeState } from "./TreeReader.js"

export interface BackupRequest {
  readonly dataDir: string
  /** The key ring goes along when it is named: then whoever has the backup can open the credentials. */
  readonly keyFile: string | undefined
  /** `postgresql`: the database is dumped by PostgreSQL's own tools, before this. */
  readonly database: BackupManifest["database"]
  /** The file to be written; it must not be there. */
  readonly target: string
  readonly release: string
  readonly progress: (line: string) => void
}

export interface BackupSummary {
  readonly file: string
  readonly bytes: number
  readonly digest: string
  readonly manifest: BackupManifest
  /** What could not be read and is not in the backup. */
  readonly skipped: ReadonlyArray<string>
}

/**
 * Writes a backup of an installation, whether its server runs or not. The `Database` is the living one.
 *
 * The database is copied first, as it is at one instant; then the files that this copy names. A changeset is written down after its
 * objects are pinned, so whatever the copy names is there when its turn comes, and more than it names does no harm.
 */
export const backup = fn("Backup.backup")(function* (request: BackupRequest) {
  yield* refuseExisting(request.target)
  const mark = randomBytes(4).toString("hex")
  const partial = `${request.target}.${mark}.partial`
  const copied = `${request.target}.${mark}.database.partial`
  return yield* Effect.scoped(
    Effect.gen(function* () {
      if (request.database === "sqlite") {
        request.progress("copying the database")
        yield* onDisk(`${dirname(request.target)} cannot be written`, () => fs.writeFile(copied, "", { mode: 0o600 }))
        yield* DatabaseFile.copy(databaseFile(request.dataDir), copied).pipe(
          Effect.mapError(({ message }) => new BackupError({ message }))
        )
      }
      const facts = yield* request.database === "sqlite" ? Effect.provide(inventory, asCopied(copied)) : inventory
      const file = yield* created(partial)
      const archive = archiveWriter(file)
      const summaries: Record<string, PartSummary> = {}
      const skipped: Array<string> = []
      const add = (part: string, entries: AsyncIterable<TreeEntry>) =>
        onDisk(`${request.target} cannot be written`, async () => {
          summaries[part] = await archive.writePart(part, entries)
        })

      if (request.database === "sqlite") yield* add(parts.database, readOne(copied, "reins.db"))
      // Before the files, which take their time: a rotation meanwhile may remove the keys that the database names.
      if (request.keyFile !== undefined) yield* add(parts.keyRing, readOne(request.keyFile, "keyring.json"))
      const unsettled: Array<string> = []
      const copiedSessions = facts.sessions.filter(hasFiles)
      for (const [index, session] of copiedSessions.entries()) {
        request.progress(`session ${index + 1} of ${copiedSessions.length}: ${session.id}`)
        const { home } = sessionPaths(request.dataDir, session.id)
        const before = yield* Effect.promise(() => treeState(home))
        yield* add(
          sessionPart(session.id),
          sessionTree(request.dataDir, session, (path) => skipped.push(`${sessionPart(session.id)}/${path}`))
        )
        if ((yield* Effect.promise(() => treeState(home))) !== before) unsettled.push(session.id)
      }
      const closed = yield* closedSessions
      const outbox = join(request.dataDir, "outbox")
      yield* add(parts.outbox, readTree(outbox, "outbox", { leaveOut: (path) => path.endsWith(".tmp") }))

      const manifest: BackupManifest = {
        format: backupFormat,
        release: request.release,
        created_at: yield* now,
        database: request.database,
        schema: facts.schema,
        key_ids: facts.keyIds,
        key_ring: request.keyFile === undefined ? "left_out" : "included",
        parts: summaries,
        incomplete: copiedSessions
          .filter((session) => session.lifecycle !== "closed" && closed.has(session.id))
          .map(({ id }) => id),
        unsettled
      }
      const text = yield* Effect.orDie(Schema.encode(Schema.parseJson(BackupManifest, { space: 2 }))(manifest))
      yield* onDisk(`${request.target} cannot be written`, async () => {
        await archive.finish(manifestName, text)
        await file.sync()
      })
      request.progress("checking what was written")
      const { bytes, digest } = yield* onDisk(`${partial} cannot be read`, () => digestOf(partial))
      yield* onDisk(`${request.target} cannot be written`, () => publish(partial, request.target))
      const summary: BackupSummary = { file: request.target, bytes, digest, manifest, skipped }
      return summary
    }).pipe(Effect.ensuring(removed(copied)), Effect.ensuring(removed(partial)))
  )
})

const asCopied = (path: string) =>
  Layer.mapError(DatabaseFile.layer(path), ({ message }) => new BackupError({ message }))

/** A workspace that is not made yet is made anew, and what it has on disk so far would be in its way. */
const hasFiles = (session: SessionFacts): boolean =>
  session.workspace_state === "ready" || session.workspace_state === "removed"

async function* sessionTree(dataDir: string, session: SessionFacts, skipped: (path: string) => void) {
  const { gitDir, home, workTree } = sessionPaths(dataDir, session.id)
  yield* readTree(gitDir, basename(gitDir), { ...trustedGit(basename(gitDir)), skipped })
  if (session.workspace_state !== "ready") return
  yield* readTree(workTree, basename(workTree), { skipped })
  yield* readTree(home, basename(home), { skipped })
}

/**
 * References first, so that what they name comes after them; then single objects, then packs: git moves an object from the former to
 * the latter, never back. What git is in the middle of is left out, above all its locks, which nobody would remove.
 */
const trustedGit = (name: string): TreeOptions => ({
  leaveOut: (path) => path.endsWith(".lock") || path === `${name}/reins-making` || /\/(?:tmp_|\.tmp-)[^/]*$/.test(path),
  order: (path) => (path === `${name}/objects` ? 1 : path === `${name}/objects/pack` ? 2 : 0)
})

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
            new BackupError({ message: `${target} is there already. Name a file that is not, or a directory.` })
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
