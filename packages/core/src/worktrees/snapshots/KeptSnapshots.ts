import { createReadStream, existsSync } from "node:fs"
import { join } from "node:path"
import { Effect, Layer, Schedule, Stream } from "effect"
import { digestOf } from "../../base/CanonicalJson.js"
import { CoreConfig } from "../../base/CoreConfig.js"
import { diskFault } from "../../base/DiskFault.js"
import { failpoint } from "../../base/Failpoint.js"
import { fn } from "../../base/Traced.js"
import { sessionPaths } from "../../bench/SessionPaths.js"
import { stagingIn } from "../../bench/Staging.js"
import type { ChangesetId, SessionId } from "../../domain/Ids.js"
import { attempt } from "../../files/Beneath.js"
import { describeFile, type WrittenBlob } from "../../files/PackedFiles.js"
import { Git } from "../../git/Git.js"
import { Placements } from "../../placement/Placements.js"
import { SessionListeners } from "../../sessions/SessionListeners.js"
import type { SessionRow } from "../../sessions/SessionRow.js"
import { SessionStore } from "../../sessions/SessionStore.js"
import { turnStates } from "../../sessions/Turn.js"
import type { BlobError } from "../../store/BlobStore.js"
import { type BlobName, Blobs } from "../../store/Blobs.js"
import { Journal } from "../../store/Journal.js"
import type { SnapshotManifest } from "./SnapshotManifest.js"
import { type PartsFailure, type SnapshotPartFiles, snapshotParts } from "./SnapshotParts.js"
import { makeSnapshotRestore } from "./SnapshotRestoring.js"
import { type Apart, type SnapshotRow, snapshotStore, type UnsealedUpload } from "./SnapshotStore.js"
import { type NewUpload, SnapshotError, Snapshots } from "./Snapshots.js"

/** Snapshots in a store of blobs. Every end of a turn asks for one. */
const kept = Layer.scoped(
  Snapshots,
  Effect.gen(function* () {
    const journal = yield* Journal
    const store = yield* snapshotStore
    const listeners = yield* SessionListeners
    const seal = yield* makeSeal
    const { objects, restore, restoreApart } = yield* makeSnapshotRestore
    const keepUpload = yield* makeKeepUploads
    const keepChangeset = yield* makeKeepChangesets
    const { collect, forget } = yield* makeCollect

    const sealOrNote = (id: SessionId) =>
      Effect.tapError(seal(id), ({ message }) => journal.commit(store.failed(id, message)))

    yield* listeners.register({
      turnMoved: (turn) => (turnStates.isTerminal(turn.state) ? store.changed(turn.session_id) : Effect.void)
    })

    return Snapshots.of({
      isKept: true,
      changed: store.changed,
      leave: store.leave,
      seal: fn("Snapshots.seal")(sealOrNote),
      sealAnew: fn("Snapshots.sealAnew")((id) => Effect.zipRight(journal.commit(store.aged(id)), sealOrNote(id))),
      sealBefore: fn("Snapshots.sealBefore")((id) =>
        Effect.catchTag(sealOrNote(id), "SnapshotError", ({ message }) =>
          Effect.logWarning("a turn begins although the one before it has no snapshot", { session_id: id, message })
        )
      ),
      keepUpload: fn("Snapshots.keepUpload")(keepUpload),
      keepChangeset: fn("Snapshots.keepChangeset")(keepChangeset),
      restore: fn("Snapshots.restore")(restore),
      isUnsealed: (id) => Effect.map(store.changesOf(id), (changes) => changes !== undefined),
      exists: (id) => Effect.map(store.newest(id), (newest) => newest !== undefined),
      isWhole: (id) =>
        Effect.map(
          store.newest(id),
          (newest) => newest?.manifest.left_out.length === 0 && newest.manifest.more_left_out === 0
        ),
      objects: fn("Snapshots.objects")(objects),
      restoreApart,
      collect,
      forget,
      unsealed: store.unsealed
    })
  })
)

/** Needs what a core has, and makes the store of blobs that its configuration names. */
export const layer = Layer.provide(kept, Blobs.layer)

const beingDeleted = new SnapshotError({
  message:
    "A blob of the snapshot is being deleted because nothing has used it for a day. It is stored anew when that has ended.",
  retryable: true
})

const deletionPatience = Schedule.intersect(Schedule.spaced("100 millis"), Schedule.recurs(100))

const failureOf = (error: PartsFailure | BlobError): SnapshotError =>
  error._tag === "BeneathError"
    ? new SnapshotError({
        message: diskFault("The files cannot be read or written", error),
        retryable: true
      })
    : new SnapshotError({ message: error.message, retryable: true })

/** Stores blobs that are announced, so that whoever deletes blobs leaves them alone. */
const makeStore = Effect.gen(function* () {
  const journal = yield* Journal
  const store = yield* snapshotStore
  const blobs = yield* Blobs

  return Effect.fnUntraced(function* <E>(
    sessionId: SessionId,
    wanted: ReadonlyArray<BlobName & { readonly content: () => Stream.Stream<Uint8Array, E> }>
  ) {
    if (!(yield* journal.commit(store.announce(sessionId, wanted)))) return yield* beingDeleted
    // One that the store has is not sent again. The store is asked, because somebody may have taken it away there.
    for (const { content, digest, size } of wanted) yield* blobs.put({ digest, size }, content())
  })
})

const fileStream = ({ file }: WrittenBlob) =>
  Stream.fromAsyncIterable<Uint8Array, SnapshotError>(
    createReadStream(file, { highWaterMark: 1024 * 1024 }),
    (cause) =>
      new SnapshotError({ message: diskFault("A part of the snapshot cannot be read", cause), retryable: true })
  )

const nameOf = ({ digest, size }: BlobName): BlobName => ({ digest, size })

const isSame = (one: SnapshotManifest, other: SnapshotManifest): boolean =>
  JSON.stringify({ ...one, ordinal: 0 }) === JSON.stringify({ ...other, ordinal: 0 })

/** The manifest of a snapshot after the last one. Undefined when there is not even anything of git. */
const manifestOf = (
  session: SessionRow,
  parts: SnapshotPartFiles,
  last: SnapshotRow | undefined
): SnapshotManifest | undefined => {
  const { base, files, modes, repository, state, work } = parts.blobs
  if (work === null) return undefined
  return {
    version: 1,
    has_files: parts.commit !== null,
    base_commit: session.tree.base_commit,
    commit: parts.commit,
    blobs: {
      base: base === null ? (last?.manifest.blobs.base ?? null) : nameOf(base),
      work: nameOf(work),
      repository: repository && nameOf(repository),
      files: files && nameOf(files),
      modes: modes && nameOf(modes),
      state: state && nameOf(state)
    },
    native: {
      session_id: session.agent.native_session_id,
      digest: parts.nativeDigest,
      cost: session.agent.native_cost
    },
    left_out: parts.leftOut,
    more_left_out: parts.moreLeftOut,
    ordinal: (last?.manifest.ordinal ?? 0) + 1
  }
}

const makeSeal = Effect.gen(function* () {
  const { dataDir } = yield* CoreConfig
  const journal = yield* Journal
  const placements = yield* Placements
  const sessions = yield* SessionStore
  const store = yield* snapshotStore
  const makeParts = yield* snapshotParts
  const blobs = yield* Blobs
  const storeBlobs = yield* makeStore

  /** Writes the snapshot, or notes that the newest one has everything already. */
  const record = Effect.fnUntraced(function* (session: SessionRow, manifest: SnapshotManifest, state: Before) {
    const place = yield* placements.at(session.id)
    const epoch = "epoch" in place ? place.epoch : 0
    return yield* journal.commit(
      Effect.gen(function* () {
        // A machine that has lost the session writes no snapshot of it any more.
        yield* placements.fence(session.id)
        const { last } = state
        const turn_id = yield* store.lastTurn(session.id)
        const row = { session_id: session.id, epoch, turn_id, manifest }
        const isKnown = last?.epoch === epoch && last.turn_id === turn_id && isSame(last.manifest, manifest)
        return isKnown
          ? yield* store.settle(session.id, state.changes, state.apart).pipe(Effect.as(last))
          : yield* store.record(row, state.changes, state.apart)
      })
    )
  })

  const take = Effect.fnUntraced(function* (session: SessionRow, changes: number) {
    const state: Before = {
      changes,
      apart: yield* store.apartOf(session.id),
      last: yield* store.newest(session.id)
    }
    const staging = yield* stagingIn(sessionPaths(dataDir, session.id), "sealing")
    const base = state.last?.manifest.blobs.base ?? null
    const keptBase = base !== null && (yield* blobs.has(base.digest))
    const parts = yield* makeParts(session, (state.last?.manifest.ordinal ?? 0) + 1, keptBase, staging)
    const manifest = manifestOf(session, parts, state.last)
    // Of a workspace that was removed before anything was captured nothing is left.
    if (manifest === undefined) return yield* journal.commit(store.settle(session.id, changes, state.apart))
    const written = Object.values(parts.blobs).filter((blob): blob is WrittenBlob => blob !== null)
    yield* storeBlobs(
      session.id,
      written.map((blob) => ({ ...nameOf(blob), content: () => fileStream(blob) }))
    )
    yield* failpoint("snapshot.stored")
    if ((yield* record(session, manifest, state)) === undefined) return yield* beingDeleted
  }, Effect.scoped)

  return Effect.fnUntraced(function* (id: SessionId) {
    const changes = yield* store.changesOf(id)
    if (changes === undefined) return
    const session = yield* sessions.find(id)
    const { gitDir } = sessionPaths(dataDir, id)
    const hasFiles = session?.tree.state === "ready" || session?.tree.state === "removed"
    // A workspace that was never made has nothing to keep.
    if (session === undefined || !hasFiles || !existsSync(gitDir)) {
      return yield* journal.commit(store.settle(id, changes, { uploads: [], changesets: [] }))
    }
    yield* Effect.mapError(take(session, changes), (error) =>
      error._tag === "SnapshotError" ? error : failureOf(error)
    )
  })
})

/** The state of a session before it is sealed. */
interface Before {
  readonly changes: number
  readonly apart: Apart
  readonly last: SnapshotRow | undefined
}

const makeKeepUploads = Effect.gen(function* () {
  const store = yield* snapshotStore
  const storeBlobs = yield* makeStore

  return (sessionId: SessionId, { bytes, mode }: NewUpload) => {
    const digest = digestOf(bytes)
    const blob = { digest, size: bytes.length }
    return storeBlobs(sessionId, [{ ...blob, content: () => Stream.make(bytes) }]).pipe(
      // The same bytes may just go with another session, which takes a moment.
      Effect.retry({ while: (error) => error === beingDeleted, schedule: deletionPatience }),
      Effect.mapError((error) => (error._tag === "SnapshotError" ? error : failureOf(error))),
      Effect.as((upload_id: UnsealedUpload["upload_id"], path: string) =>
        Effect.flatMap(store.confirm([blob]), (isKept) =>
          isKept
            ? Effect.zipRight(store.noteUpload(sessionId, { upload_id, path, mode, digest }), store.changed(sessionId))
            : // Its blob is announced for this session, so that nobody deletes it for a day.
              Effect.dieMessage(`the blob of upload ${upload_id} is being deleted`)
        )
      )
    )
  }
})

/** Keeps the objects of a changeset before it is ready. A store that is away keeps nobody from it: the snapshot is noted as missing then. */
const makeKeepChangesets = Effect.gen(function* () {
  const { dataDir } = yield* CoreConfig
  const git = yield* Git
  const store = yield* snapshotStore
  const storeBlobs = yield* makeStore

  const keep = Effect.fnUntraced(function* (session: SessionRow, changeset_id: ChangesetId) {
    const paths = sessionPaths(dataDir, session.id)
    const file = join(yield* stagingIn(paths, "captured"), "bundle")
    const what = { ref: `changesets/${changeset_id}` }
    yield* git.bundle({ gitDir: paths.gitDir, what, base: session.tree.base_commit, file })
    const blob = yield* attempt(file, () => describeFile(file))
    yield* storeBlobs(session.id, [{ ...nameOf(blob), content: () => fileStream(blob) }])
    return Effect.flatMap(store.confirm([blob]), (isKept) =>
      isKept ? store.noteChangeset(session.id, { changeset_id, digest: blob.digest }) : Effect.void
    )
  }, Effect.scoped)

  return (session: SessionRow, id: ChangesetId) =>
    Effect.catchAll(keep(session, id), ({ message }) =>
      Effect.as(
        Effect.logWarning("a changeset has no copy before the next snapshot", { changeset_id: id, message }),
        Effect.void
      )
    )
})

const makeCollect = Effect.gen(function* () {
  const journal = yield* Journal
  const store = yield* snapshotStore
  const blobs = yield* Blobs

  const deleteAll = Effect.fnUntraced(function* (condemned: ReadonlyArray<string>) {
    for (const digest of condemned) {
      yield* blobs.delete(digest)
      yield* journal.commit(store.forget(digest))
    }
  })
  return {
    collect: Effect.flatMap(journal.commit(store.condemn()), deleteAll).pipe(
      Effect.catchTag("BlobError", ({ message }) =>
        Effect.logWarning("blobs that nothing needs could not be deleted", { message })
      ),
      Effect.withSpan("Snapshots.collect")
    ),
    forget: fn("Snapshots.forget")((sessionId: SessionId) =>
      Effect.mapError(Effect.flatMap(journal.commit(store.forgetSession(sessionId)), deleteAll), failureOf)
    )
  }
})
