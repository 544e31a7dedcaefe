import type { SessionId } from "@reins/base/domain/Ids"
import { SnapshotError } from "@reins/machine/bench/snapshots/TreeSnapshots"
import { Effect, type Stream } from "effect"
import { type BlobName, Blobs } from "../../store/Blobs.js"
import { Journal } from "../../store/Journal.js"
import { snapshotStore } from "./SnapshotStore.js"

/** The blob of a snapshot is on its way out, and is stored anew when it has gone. */
export const beingDeleted = new SnapshotError({
  message:
    "A blob of the snapshot is being deleted because nothing has used it for a day. It is stored anew when that has ended.",
  retryable: true
})

/** A failure of the store of blobs while something is kept there. */
export const notStored = ({ message }: { readonly message: string }) => new SnapshotError({ message, retryable: true })

/** Stores blobs that are announced, so that whoever deletes blobs leaves them alone. */
export const makeStoreBlobs = Effect.gen(function* () {
  const journal = yield* Journal
  const store = yield* snapshotStore
  const blobs = yield* Blobs

  return Effect.fnUntraced(function* (
    sessionId: SessionId,
    wanted: ReadonlyArray<BlobName & { readonly content: Stream.Stream<Uint8Array, SnapshotError> }>
  ) {
    if (!(yield* journal.commit(store.announce(sessionId, wanted)))) return yield* beingDeleted
    // One that the store has is not sent again. The store is asked, because somebody may have taken it away there.
    for (const { content, digest, size } of wanted)
      yield* Effect.catchTag(blobs.put({ digest, size }, content), "BlobError", (error) =>
        Effect.fail(notStored(error))
      )
  })
})
