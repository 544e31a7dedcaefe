import type { SessionId } from "@reins/base/domain/Ids"
import type { RestoreEar, RestoreOrder, TreeSnapshots } from "@reins/machine/bench/snapshots/TreeSnapshots"
import { SnapshotError } from "@reins/machine/bench/snapshots/TreeSnapshots"
import { Effect, Stream } from "effect"
import { Projects } from "../../projects/Projects.js"
import type { SessionRow } from "../../sessions/rows/SessionRow.js"
import { SessionStore } from "../../sessions/rows/SessionStore.js"
import type { BlobError } from "../../store/BlobStore.js"
import { Blobs } from "../../store/Blobs.js"
import { gitCredentials } from "../GitCredentials.js"
import { hasSetup, treeOriginOf } from "../TreeOrders.js"
import { type SnapshotRow, snapshotStore } from "./SnapshotStore.js"
import type { Restored } from "./Snapshots.js"

const noSnapshot = new SnapshotError({
  message: "The session has no snapshot: its workspace is made anew from its repository.",
  retryable: false
})

const notSealed = new SnapshotError({
  message: "The other session has no snapshot yet. It has one soon after its turn has ended.",
  retryable: true
})

const notRead = ({ message, reason }: BlobError) => new SnapshotError({ message, retryable: reason === "unavailable" })

/** Has a bench make the files of sessions from their newest snapshots. */
export const makeSnapshotRestore = Effect.fnUntraced(function* (
  bench: Pick<TreeSnapshots, "add" | "objects" | "restore">
) {
  const sessions = yield* SessionStore
  const store = yield* snapshotStore
  const blobs = yield* Blobs
  const gitCredential = yield* gitCredentials
  const projects = yield* Projects

  const blob: RestoreEar["blob"] = (digest) => Stream.mapError(blobs.get(digest), notRead)

  const newestOf = Effect.fnUntraced(function* (id: SessionId, absent: SnapshotError) {
    const session = yield* sessions.find(id)
    const snapshot = yield* store.newest(id)
    if (session === undefined || snapshot === undefined) return yield* absent
    const order: RestoreOrder = {
      ...treeOriginOf(session),
      manifest: snapshot.manifest,
      apart: yield* store.apartOf(id),
      hasFiles: session.tree.state === "ready",
      owesSetup: hasSetup(yield* projects.specOf(session))
    }
    return { session, snapshot, order }
  })

  return {
    /** Makes the files of a session. `made` runs when all are there, and they count once it has succeeded. */
    restore: Effect.fnUntraced(function* (
      id: SessionId,
      made: (session: SessionRow, snapshot: SnapshotRow) => Effect.Effect<void>
    ) {
      const { order, session, snapshot } = yield* newestOf(id, noSnapshot)
      const skipped = yield* bench.restore(order, {
        blob,
        credential: gitCredential(session),
        made: made(session, snapshot)
      })
      const { created_at, id: snapshot_id, manifest, turn_id } = snapshot
      const { left_out, more_left_out } = manifest
      const last = yield* store.lastTurn(id)
      const restored: Restored = {
        snapshot_id,
        turn_id,
        created_at,
        left_out,
        more_left_out,
        skipped,
        lost_turn: last === turn_id ? null : last,
        uploads:
          manifest.has_files && order.hasFiles
            ? order.apart.uploads.filter(({ place }) => place === "workspace").length
            : 0
      }
      return { restored, native: manifest.native }
    }),
    objects: Effect.fnUntraced(function* (id: SessionId) {
      const { order, session } = yield* newestOf(id, notSealed)
      return yield* bench.objects(order, { blob, credential: gitCredential(session) })
    }),
    restoreApart: Effect.fnUntraced(function* (id: SessionId) {
      const apart = yield* store.apartOf(id)
      if (apart.changesets.length > 0 || apart.uploads.length > 0) yield* bench.add(id, apart, { blob })
    })
  }
})
