import { createWriteStream, existsSync } from "node:fs"
import * as fs from "node:fs/promises"
import { dirname, join } from "node:path"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { Chunk, Effect, Stream } from "effect"
import { CoreConfig } from "../../base/CoreConfig.js"
import { diskFault } from "../../base/DiskFault.js"
import { failpoint } from "../../base/Failpoint.js"
import { objectStores } from "../../bench/ObjectStores.js"
import { objectsIn, type SessionPaths, sessionPaths } from "../../bench/SessionPaths.js"
import { stagingIn } from "../../bench/Staging.js"
import { noteOwedSetup } from "../../bench/setup/OwedSetup.js"
import type { SessionId } from "../../domain/Ids.js"
import { attempt, type BeneathError, inDirectory, replaceFile } from "../../files/Beneath.js"
import { usualMode } from "../../files/Leftovers.js"
import { pathNames, pathText } from "../../files/NameText.js"
import { setModes, unpackFiles, unpackJson } from "../../files/PackedFiles.js"
import { removeTree } from "../../files/RemoveTree.js"
import { nameForAgent } from "../../git/AgentAlternates.js"
import { namedStore } from "../../git/Alternates.js"
import type { BaseSource } from "../../git/Bundles.js"
import { Git } from "../../git/Git.js"
import type { GitError } from "../../git/GitError.js"
import { Projects } from "../../projects/Projects.js"
import type { SessionRow } from "../../sessions/SessionRow.js"
import { SessionStore } from "../../sessions/SessionStore.js"
import type { BlobError } from "../../store/BlobStore.js"
import { type BlobName, Blobs } from "../../store/Blobs.js"
import { Journal } from "../../store/Journal.js"
import { AgentStateStore } from "../AgentStateStore.js"
import { gitCredentials } from "../GitCredentials.js"
import { hasSetup, treeOriginOf } from "../TreeOrders.js"
import { type LeftOut, nativeFields } from "./SnapshotManifest.js"
import { archived } from "./SnapshotParts.js"
import { type SnapshotRow, snapshotStore, type UnsealedChangeset, type UnsealedUpload } from "./SnapshotStore.js"
import { type Restored, SnapshotError } from "./Snapshots.js"

const usualMask = 0o022

const refused = (message: string) => new SnapshotError({ message, retryable: false })

const failureOf = (error: GitError | BlobError | BeneathError | SnapshotError): SnapshotError => {
  switch (error._tag) {
    case "SnapshotError":
      return error
    case "GitError":
      return new SnapshotError({
        message: error.message,
        retryable: error.kind === "remote_unavailable" || error.kind === "timeout"
      })
    case "BlobError":
      return new SnapshotError({ message: error.message, retryable: error.reason === "unavailable" })
    case "BeneathError":
      return new SnapshotError({
        message: diskFault("The files cannot be written", error),
        retryable: true
      })
  }
}

const notSealed = new SnapshotError({
  message: "The other session has no snapshot yet. It has one soon after its turn has ended.",
  retryable: true
})

const pathsOf = (leftOut: ReadonlyArray<LeftOut>) => leftOut.map(({ path }) => path)

const scratchIn = (dataDir: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      await fs.mkdir(objectsIn(dataDir), { recursive: true, mode: 0o700 })
      return fs.mkdtemp(join(objectsIn(dataDir), "of-"))
    }),
    (directory) => Effect.promise(() => removeTree(directory))
  )

/** Makes place for a session. Fails where something is that no restore has begun: it may be the only copy of somebody's work. */
const clear = ({ gitDir, home, restoring, root, workTree }: SessionPaths) =>
  Effect.gen(function* () {
    const isTaken = [workTree, gitDir].some(existsSync)
    if (isTaken && !existsSync(restoring))
      return yield* refused(`Something is at ${root} already: move it away, then restore the session again.`)
    yield* attempt(root, async () => {
      await fs.mkdir(root, { recursive: true, mode: 0o700 })
      await fs.writeFile(restoring, "")
      for (const path of [workTree, gitDir, home]) await removeTree(path)
    })
  })

/** Makes the files of a session from its newest snapshot. */
export const makeSnapshotRestore = Effect.gen(function* () {
  const { dataDir } = yield* CoreConfig
  const sessions = yield* SessionStore
  const store = yield* snapshotStore
  const git = yield* gitParts
  const restoreFiles = yield* fileParts
  const restoreChangesets = yield* changesetsPart
  const restoreUploads = yield* uploadsPart
  const settle = yield* makeSettle
  const projects = yield* Projects

  const make = Effect.fnUntraced(function* (
    session: SessionRow,
    snapshot: SnapshotRow,
    settle: (session: SessionRow, snapshot: SnapshotRow) => Effect.Effect<void>
  ) {
    const paths = sessionPaths(dataDir, session.id)
    const { changesets, uploads } = yield* store.apartOf(session.id)
    yield* clear(paths)
    const staging = yield* stagingIn(paths, "restored")
    yield* git.files(session, snapshot, staging)
    yield* failpoint("restore.files_made")
    yield* restoreChangesets(paths.gitDir, changesets, staging)
    const isNeeded = snapshot.manifest.has_files && session.tree.state === "ready"
    const skipped = isNeeded ? yield* restoreFiles(session, snapshot, staging) : []
    if (isNeeded) yield* nameForAgent(paths.workTree, yield* namedStore(paths.gitDir))
    const written = isNeeded ? yield* restoreUploads(session.id, uploads) : 0
    const { created_at, id, manifest, turn_id } = snapshot
    const { left_out, more_left_out } = manifest
    if (isNeeded && hasSetup(yield* projects.specOf(session))) yield* noteOwedSetup(paths, pathsOf(left_out))
    yield* settle(session, snapshot)
    yield* attempt(paths.root, () => fs.rm(paths.restoring))
    const last = yield* store.lastTurn(session.id)
    const restored: Restored = {
      snapshot_id: id,
      turn_id,
      created_at,
      left_out,
      more_left_out,
      skipped,
      lost_turn: last === turn_id ? null : last,
      uploads: written
    }
    return { restored, native: manifest.native }
  }, Effect.scoped)

  const newestOf = Effect.fnUntraced(function* (id: SessionId) {
    const session = yield* sessions.find(id)
    const snapshot = yield* store.newest(id)
    if (session === undefined || snapshot === undefined)
      return yield* refused("The session has no snapshot: its workspace is made anew from its repository.")
    return { session, snapshot }
  })

  return {
    restore: Effect.fnUntraced(function* (id: SessionId) {
      const { session, snapshot } = yield* newestOf(id)
      return (yield* Effect.mapError(make(session, snapshot, settle), failureOf)).restored
    }),
    /** Makes the files, and leaves the session as it is. */
    files: Effect.fnUntraced(function* (id: SessionId) {
      const { session, snapshot } = yield* newestOf(id)
      return yield* Effect.mapError(
        make(session, snapshot, () => Effect.void),
        failureOf
      )
    }),
    /** Makes a git directory in a new directory of the data directory, which goes with the scope. */
    objects: Effect.fnUntraced(function* (id: SessionId) {
      const session = yield* sessions.find(id)
      const snapshot = yield* store.newest(id)
      if (session === undefined || snapshot === undefined) return yield* notSealed
      const directory = yield* scratchIn(dataDir)
      const into = { staging: directory, gitDir: join(directory, "trusted.git"), copyBaseTo: null }
      const { changesets } = yield* store.apartOf(id)
      yield* Effect.mapError(git.objects(session, snapshot, into), failureOf)
      yield* Effect.mapError(restoreChangesets(into.gitDir, changesets, directory), failureOf)
      return into.gitDir
    }),
    restoreApart: Effect.fnUntraced(function* (id: SessionId) {
      const paths = sessionPaths(dataDir, id)
      const { changesets, uploads } = yield* store.apartOf(id)
      if (changesets.length === 0 && uploads.length === 0) return
      const staging = yield* stagingIn(paths, "restored")
      yield* Effect.mapError(restoreChangesets(paths.gitDir, changesets, staging), failureOf)
      yield* Effect.mapError(restoreUploads(id, uploads), failureOf)
    }, Effect.scoped)
  }
})

/** Brings a blob into a file, which is complete and checked when this has succeeded. */
const makeFetch = Effect.map(
  Blobs,
  (blobs) =>
    ({ digest }: Pick<BlobName, "digest">, file: string): Effect.Effect<string, BlobError | BeneathError> =>
      Effect.gen(function* () {
        const failures: Array<BlobError> = []
        const content = Stream.tapError(blobs.get(digest), (error) => Effect.sync(() => failures.push(error)))
        yield* attempt(file, () =>
          pipeline(
            Readable.from(Stream.toAsyncIterable(content)),
            createWriteStream(file, { flags: "wx", mode: 0o600 })
          )
        ).pipe(Effect.mapError((error) => failures[0] ?? error))
        return file
      })
)

/** Makes the trusted git directory, the files that git holds, and the objects that the agent's repository had from its clone. */
const gitParts = Effect.gen(function* () {
  const { dataDir } = yield* CoreConfig
  const git = yield* Git
  const fetch = yield* makeFetch
  const gitCredential = yield* gitCredentials
  const stores = yield* objectStores

  const baseOf = Effect.fnUntraced(function* (session: SessionRow, { manifest }: SnapshotRow, staging: string) {
    const commit = manifest.base_commit
    if (commit === null) return { kind: "none" } as const
    if (manifest.blobs.base !== null) {
      const file = yield* fetch(manifest.blobs.base, join(staging, "base"))
      return { kind: "bundle", file, commit } as const
    }
    if (session.tree.repository === null)
      return yield* refused("The snapshot has no base, and the session no repository.")
    const credential = yield* gitCredential(session)
    const store = (yield* stores).storeFor(treeOriginOf(session))
    return { kind: "remote", url: session.tree.repository, credential, commit, ...(store && { store }) } as const
  })

  /** Makes a trusted git directory of what a snapshot has. */
  const objects = Effect.fnUntraced(function* (
    session: SessionRow,
    snapshot: SnapshotRow,
    into: { readonly staging: string; readonly gitDir: string; readonly copyBaseTo: string | null }
  ) {
    const { copyBaseTo, gitDir, staging } = into
    const base: BaseSource = yield* baseOf(session, snapshot, staging)
    const file = yield* fetch(snapshot.manifest.blobs.work, join(staging, "work"))
    const sparse = session.tree.sparse === null ? null : JSON.parse(session.tree.sparse)
    yield* git.unbundle({ gitDir, base, file, sparse, copyBaseTo })
  })

  const files = Effect.fnUntraced(function* (session: SessionRow, snapshot: SnapshotRow, staging: string) {
    const { manifest } = snapshot
    const { gitDir, workTree } = sessionPaths(dataDir, session.id)
    const hasFiles = manifest.commit !== null && session.tree.state === "ready"
    if (hasFiles) yield* attempt(workTree, () => fs.mkdir(workTree, { recursive: true }))
    const hasRepository = hasFiles && manifest.blobs.repository !== null
    const copyBaseTo = hasRepository ? join(workTree, ".git", "objects") : null
    yield* objects(session, snapshot, { staging, gitDir, copyBaseTo })
    if (hasFiles && manifest.commit !== null) {
      yield* git.checkOut({ gitDir, workTree, base: manifest.base_commit, commit: manifest.commit })
    }
  })
  return { files, objects }
})

/** Puts what git does not hold back: ignored files, the agent's repository and record, and permissions. */
const fileParts = Effect.gen(function* () {
  const { dataDir } = yield* CoreConfig
  const git = yield* Git
  const fetch = yield* makeFetch

  /** The permissions of everything that git holds, where the mask of this process is not the usual one; else those that are unusual. */
  const modesOf = Effect.fnUntraced(function* (session: SessionRow, { manifest }: SnapshotRow, staging: string) {
    const { gitDir } = sessionPaths(dataDir, session.id)
    const blob = manifest.blobs.modes
    const file = blob && (yield* fetch(blob, join(staging, "modes")))
    // Boundary: the digest of the file says that `packJson` has written it.
    const listed = (file === null ? [] : yield* attempt(file, () => unpackJson(file))) as ReadonlyArray<
      readonly [string, number]
    >
    if (process.umask() === usualMask || manifest.commit === null) return new Map(listed)
    const usual = new Map<string, number>()
    for (const [name, mode] of yield* git.treeModes({ gitDir, tree: manifest.commit })) {
      const path = pathText(Buffer.from(name, "latin1"))
      if (mode === "120000" || mode === "160000") continue
      for (let folder = dirname(path); folder !== "." && !usual.has(folder); folder = dirname(folder))
        usual.set(folder, usualMode("directory", 0))
      usual.set(path, usualMode("file", Number.parseInt(mode, 8)))
    }
    return new Map([...usual, ...listed])
  })

  return Effect.fnUntraced(function* (session: SessionRow, snapshot: SnapshotRow, staging: string) {
    const { gitDir, home, workTree } = sessionPaths(dataDir, session.id)
    const { files, repository, state } = snapshot.manifest.blobs
    const roots = new Map<string, string>([
      [archived.workspace, workTree],
      [archived.trusted, gitDir],
      [archived.repository, join(workTree, ".git")],
      [archived.state, home]
    ])
    yield* attempt(home, () => fs.mkdir(home, { recursive: true }))
    const skipped: Array<string> = []
    for (const [name, blob] of Object.entries({ files, repository, state })) {
      if (blob === null) continue
      const file = yield* fetch(blob, join(staging, name))
      if (name === "repository") yield* attempt(name, () => fs.mkdir(join(workTree, ".git"), { recursive: true }))
      skipped.push(...(yield* unpackFiles(file, (part) => roots.get(part) ?? null)))
    }
    yield* setModes(workTree, yield* modesOf(session, snapshot, staging))
    return skipped
  })
})

/** Adds the changesets that were captured after the snapshot. */
const changesetsPart = Effect.gen(function* () {
  const git = yield* Git
  const fetch = yield* makeFetch

  return (gitDir: string, changesets: ReadonlyArray<UnsealedChangeset>, staging: string) =>
    Effect.forEach(
      changesets,
      ({ changeset_id, digest }) =>
        Effect.flatMap(fetch({ digest }, join(staging, changeset_id)), (file) => git.addBundle({ gitDir, file })),
      { discard: true }
    )
})

/** Writes what was uploaded after the snapshot. */
const uploadsPart = Effect.gen(function* () {
  const { dataDir } = yield* CoreConfig
  const blobs = yield* Blobs

  return Effect.fnUntraced(function* (id: SessionId, uploads: ReadonlyArray<UnsealedUpload>) {
    const { workTree } = sessionPaths(dataDir, id)
    for (const { digest, mode, path } of uploads) {
      const bytes = Buffer.concat(Chunk.toReadonlyArray(yield* Stream.runCollect(blobs.get(digest))))
      const names = pathNames(path)
      yield* inDirectory(workTree, names.slice(0, -1), { create: true }, (directory) =>
        replaceFile(directory, names.at(-1) ?? Buffer.alloc(0), bytes, { mode: mode ?? 0o644, exclusive: false })
      )
    }
    return uploads.length
  })
})

/** Sets the session to the native session of the snapshot, because the agent goes on from there. */
const makeSettle = Effect.gen(function* () {
  const journal = yield* Journal
  const states = yield* AgentStateStore

  return ({ id }: SessionRow, { manifest }: SnapshotRow) =>
    journal.commit(states.change(id, nativeFields(manifest.native)))
})
