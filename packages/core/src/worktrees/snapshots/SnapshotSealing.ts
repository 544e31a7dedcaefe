import { failpoint } from "@reins/base/base/Failpoint"
import type { SessionId } from "@reins/base/domain/Ids"
import { Bench } from "@reins/machine/bench/Bench"
import type { PartBlob, SnapshotManifest } from "@reins/machine/bench/snapshots/SnapshotManifest"
import type { SealedPart, SealedTree } from "@reins/machine/bench/snapshots/TreeSnapshots"
import { Effect } from "effect"
import { Placements } from "../../placement/Placements.js"
import type { SessionRow } from "../../sessions/rows/SessionRow.js"
import { SessionStore } from "../../sessions/rows/SessionStore.js"
import { Blobs } from "../../store/Blobs.js"
import { Journal } from "../../store/Journal.js"
import { treeOriginOf } from "../TreeOrders.js"
import { beingDeleted, makeStoreBlobs, notStored } from "./BlobStoring.js"
import { type Apart, type SnapshotRow, snapshotStore } from "./SnapshotStore.js"

/** The state of a session before it is sealed. */
interface Before {
  readonly changes: number
  readonly apart: Apart
  readonly last: SnapshotRow | undefined
}

const isSame = (one: SnapshotManifest, other: SnapshotManifest): boolean =>
  JSON.stringify({ ...one, ordinal: 0 }) === JSON.stringify({ ...other, ordinal: 0 })

/** The manifest of a snapshot after the last one. Undefined when there is not even anything of git. */
const manifestOf = (
  session: SessionRow,
  { blobs, commit, leftOut, moreLeftOut, nativeDigest }: SealedTree,
  last: SnapshotRow | undefined
): SnapshotManifest | undefined => {
  const { base, work } = blobs
  if (work === null) return undefined
  return {
    version: 1,
    has_files: commit !== null,
    base_commit: session.tree.base_commit,
    commit,
    blobs: { ...blobs, base: base ?? last?.manifest.blobs.base ?? null, work },
    native: { session_id: session.agent.native_session_id, digest: nativeDigest, cost: session.agent.native_cost },
    left_out: leftOut,
    more_left_out: moreLeftOut,
    ordinal: (last?.manifest.ordinal ?? 0) + 1
  }
}

/** Seals a session unless its newest snapshot has everything. */
export const makeSeal = Effect.gen(function* () {
  const journal = yield* Journal
  const placements = yield* Placements
  const sessions = yield* SessionStore
  const store = yield* snapshotStore
  const { snapshots } = yield* Bench
  const blobs = yield* Blobs
  const storeBlobs = yield* makeStoreBlobs

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

  const take = Effect.fnUntraced(function* (session: SessionRow, state: Before) {
    const { id, tree } = session
    const base = state.last?.manifest.blobs.base ?? null
    const sealed = yield* snapshots.seal({
      ...treeOriginOf(session),
      provider: session.provider_id,
      hasFiles: tree.state === "ready",
      ordinal: (state.last?.manifest.ordinal ?? 0) + 1,
      hasBase: base !== null && (yield* Effect.mapError(blobs.has(base.digest), notStored))
    })
    const manifest = sealed === null ? undefined : manifestOf(session, sealed, state.last)
    // Of a workspace that was removed before anything was captured nothing is left.
    if (sealed === null || manifest === undefined)
      return yield* journal.commit(store.settle(id, state.changes, sealed === null ? nothingApart : state.apart))
    yield* storeBlobs(
      id,
      writtenOf(sealed).map(([part, blob]) => ({ ...blob, content: snapshots.read(id, part) }))
    )
    yield* failpoint("snapshot.stored")
    if ((yield* record(session, manifest, state)) === undefined) return yield* beingDeleted
  }, Effect.scoped)

  return Effect.fnUntraced(function* (id: SessionId) {
    const changes = yield* store.changesOf(id)
    if (changes === undefined) return
    const session = yield* sessions.find(id)
    if (session?.tree.state !== "ready" && session?.tree.state !== "removed")
      return yield* journal.commit(store.settle(id, changes, nothingApart))
    yield* take(session, { changes, apart: yield* store.apartOf(id), last: yield* store.newest(id) })
  })
})

/** A workspace that was never made has nothing, and what is stored apart waits for it. */
const nothingApart: Apart = { uploads: [], changesets: [] }

/** The parts that a bench has made. */
const writtenOf = ({ blobs }: SealedTree): ReadonlyArray<readonly [SealedPart, PartBlob]> =>
  (["base", "work", "repository", "files", "modes", "state"] as const).flatMap((part) => {
    const blob = blobs[part]
    return blob === null ? [] : [[part, blob] as const]
  })
