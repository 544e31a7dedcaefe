import { digestOf } from "@reins/base/base/CanonicalJson"
import { failpoint } from "@reins/base/base/Failpoint"
import type { Principal } from "@reins/base/domain/Principal"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import { Bench } from "@reins/machine/bench/Bench"
import { Effect } from "effect"
import { actorOf, type Denied } from "../access/Access.js"
import { Placements } from "../placement/Placements.js"
import { UploadStore, type WrittenFile } from "../sessions/messages/UploadStore.js"
import type { SessionRow } from "../sessions/rows/SessionRow.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import type { Command } from "../store/Command.js"
import { Journal } from "../store/Journal.js"
import { digestConflict, type FileFailure, failureOf } from "./FileFailures.js"
import { notKept, notMade, requireNotClosed } from "./FileRefusals.js"
import type { FileUpload } from "./FilesApi.js"
import { Snapshots } from "./snapshots/Snapshots.js"
import { makeCheckUpload, type UploadTarget } from "./UploadRules.js"
import { WorkingTrees } from "./WorkingTrees.js"
import type { UploadedFile } from "./WorkspaceFile.js"

export type UploadFailure =
  | FileFailure
  | Denied
  | ReinsError<"invalid_transition" | "payload_too_large" | "quota_exhausted" | "version_conflict">

/** Writes a file, then tells of it in the commit. See `SessionFiles.upload`. */
export const makeUpload = Effect.gen(function* () {
  const journal = yield* Journal
  const store = yield* SessionStore
  const uploads = yield* UploadStore
  const trees = yield* WorkingTrees
  const placements = yield* Placements
  const snapshots = yield* Snapshots
  const { files } = yield* Bench
  const check = yield* makeCheckUpload

  /** Writes the file. A file with the same content counts as written, because an earlier try may have been broken off. */
  const put = (
    session: SessionRow,
    upload: FileUpload,
    { path, place }: UploadTarget,
    bytes: Uint8Array
  ): Effect.Effect<WrittenFile, FileFailure | ReinsError<"version_conflict">> => {
    if (place === "attachment") {
      const written = { place, path, size: bytes.length, digest: digestOf(bytes) }
      const file = { name: path, digest: written.digest }
      return Effect.as(
        Effect.mapError(files.attach(session.id, file, bytes), (error) => failureOf("body", error)),
        written
      )
    }
    return files
      .write(session.id, path, bytes, {
        ...(upload.expected_digest !== undefined && { expectedDigest: upload.expected_digest }),
        ...(upload.mode !== undefined && { mode: Number.parseInt(upload.mode, 8) })
      })
      .pipe(
        Effect.catchTag("FileDigestMismatch", (mismatch) =>
          mismatch.actual === digestOf(bytes)
            ? Effect.succeed({ path, size: bytes.length, digest: mismatch.actual })
            : Effect.fail(digestConflict(mismatch))
        ),
        Effect.mapBoth({
          onFailure: (error) => (error._tag === "ReinsError" ? error : failureOf("body", error)),
          onSuccess: ({ digest, path, size }) => ({ place, path, size, digest })
        })
      )
  }

  return (principal: Principal, sessionId: string, upload: FileUpload): Command<UploadedFile, UploadFailure> =>
    journal.prepared(
      "SessionFiles.upload",
      { by: principal, about: { type: "session", id: sessionId } },
      Effect.gen(function* () {
        const { bytes, session, target } = yield* check(principal, sessionId, upload)
        const mode = upload.mode === undefined ? null : Number.parseInt(upload.mode, 8)
        const keep = yield* Effect.mapError(
          snapshots.keepUpload(session.id, { place: target.place, bytes, mode }),
          notKept
        )
        const written = yield* Effect.mapError(trees.make(session.id), notMade).pipe(
          Effect.zipRight(put(session, upload, target, bytes)),
          // The workspace of a session that was closed meanwhile is gone, which tells nothing about the path.
          Effect.tapError(() => Effect.flatMap(store.readable(principal, sessionId), requireNotClosed))
        )
        yield* failpoint("upload.written")
        return Effect.gen(function* () {
          yield* placements.fence(session.id)
          const row = yield* store.writable(principal, sessionId)
          // The session was closed meanwhile, and the file is removed with its workspace.
          yield* requireNotClosed(row)
          if (written.place === "workspace")
            yield* journal.append(row.id, actorOf(principal), [
              { type: "workspace.changed", payload: { base_commit: row.tree.base_commit, path: written.path } }
            ])
          const upload_id = yield* uploads.record(row.id, written)
          yield* keep(upload_id, written.path)
          return { upload_id, file: written }
        })
      })
    )
})
