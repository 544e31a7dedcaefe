import { digestOf } from "@reins/base/base/CanonicalJson"
import { fn } from "@reins/base/base/Traced"
import type { ChangesetId, SessionId } from "@reins/base/domain/Ids"
import { Bench } from "@reins/machine/bench/Bench"
import { Effect, Layer, Schedule, Stream } from "effect"
import { SessionListeners } from "../../sessions/rows/SessionListeners.js"
import type { SessionRow } from "../../sessions/rows/SessionRow.js"
import { turnStates } from "../../sessions/rows/Turn.js"
import { Blobs } from "../../store/Blobs.js"
import { Journal } from "../../store/Journal.js"
import { AgentStateStore } from "../AgentStateStore.js"
import { beingDeleted, makeStoreBlobs, notStored } from "./BlobStoring.js"
import { makeSnapshotRestore } from "./SnapshotRestoring.js"
import { makeSeal } from "./SnapshotSealing.js"
import { snapshotStore, type UnsealedUpload } from "./SnapshotStore.js"
import { type NewUpload, Snapshots } from "./Snapshots.js"

/** Snapshots in a store of blobs. Every end of a turn asks for one. */
const kept = Layer.scoped(
  Snapshots,
  Effect.gen(function* () {
    const journal = yield* Journal
    const store = yield* snapshotStore
    const listeners = yield* SessionListeners
    const seal = yield* makeSeal
    const states = yield* AgentStateStore
    const { objects, restore, restoreApart } = yield* makeSnapshotRestore((yield* Bench).snapshots)
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
      restore: fn("Snapshots.restore")((id) =>
        Effect.map(
          // The agent goes on from the record that the snapshot has.
          restore(id, (session, { manifest }) => journal.commit(states.goOnFrom(session.id, manifest.native))),
          ({ restored }) => restored
        )
      ),
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

const deletionPatience = Schedule.intersect(Schedule.spaced("100 millis"), Schedule.recurs(100))

const makeKeepUploads = Effect.gen(function* () {
  const store = yield* snapshotStore
  const storeBlobs = yield* makeStoreBlobs

  return (sessionId: SessionId, { bytes, mode, place }: NewUpload) => {
    const digest = digestOf(bytes)
    const blob = { digest, size: bytes.length }
    return storeBlobs(sessionId, [{ ...blob, content: Stream.make(bytes) }]).pipe(
      // The same bytes may just go with another session, which takes a moment.
      Effect.retry({ while: (error) => error === beingDeleted, schedule: deletionPatience }),
      Effect.as((upload_id: UnsealedUpload["upload_id"], path: string) =>
        Effect.flatMap(store.confirm([blob]), (isKept) =>
          isKept
            ? Effect.zipRight(
                store.noteUpload(sessionId, { upload_id, path, place, mode, digest }),
                store.changed(sessionId)
              )
            : // Its blob is announced for this session, so that nobody deletes it for a day.
              Effect.dieMessage(`the blob of upload ${upload_id} is being deleted`)
        )
      )
    )
  }
})

/** Keeps the objects of a changeset before it is ready. A store that is away keeps nobody from it: the snapshot is noted as missing then. */
const makeKeepChangesets = Effect.gen(function* () {
  const { snapshots } = yield* Bench
  const store = yield* snapshotStore
  const storeBlobs = yield* makeStoreBlobs

  const keep = Effect.fnUntraced(function* (session: SessionRow, changeset_id: ChangesetId) {
    const blob = yield* snapshots.sealChangeset(session.id, session.tree.base_commit, changeset_id)
    yield* storeBlobs(session.id, [{ ...blob, content: snapshots.read(session.id, "changeset") }])
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
      Effect.mapError(Effect.flatMap(journal.commit(store.forgetSession(sessionId)), deleteAll), notStored)
    )
  }
})
