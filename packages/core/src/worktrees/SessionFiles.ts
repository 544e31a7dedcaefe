import { Context, DateTime, Effect, Layer } from "effect"
import { Access, actorOf, type Denied, type Unseen } from "../access/Access.js"
import { digestOf } from "../base/CanonicalJson.js"
import { CoreConfig } from "../base/CoreConfig.js"
import { failpoint } from "../base/Failpoint.js"
import { fn } from "../base/Traced.js"
import { Bench } from "../bench/Bench.js"
import type { SnapshotError } from "../bench/snapshots/TreeSnapshots.js"
import { requireAll } from "../domain/Condition.js"
import type { SessionId } from "../domain/Ids.js"
import type { Principal } from "../domain/Principal.js"
import { ReinsError } from "../domain/ReinsError.js"
import { fromMillis } from "../domain/Timestamp.js"
import { parseWorkspacePath } from "../files/WorkspacePath.js"
import type { GitError } from "../git/GitError.js"
import { Placements } from "../placement/Placements.js"
import { Projects } from "../projects/Projects.js"
import { UploadStore } from "../sessions/messages/UploadStore.js"
import { Quotas } from "../sessions/Quotas.js"
import { notOpen, noWorkspace } from "../sessions/Refusals.js"
import type { SessionRow } from "../sessions/SessionRow.js"
import { sessionRules } from "../sessions/SessionRules.js"
import { SessionStore } from "../sessions/SessionStore.js"
import type { Command } from "../store/Command.js"
import { existingOf } from "../store/Existing.js"
import { Journal } from "../store/Journal.js"
import { digestConflict, type FileFailure, failureOf } from "./FileFailures.js"
import type { FileUpload } from "./FilesApi.js"
import { Snapshots } from "./snapshots/Snapshots.js"
import { hasSetup } from "./TreeOrders.js"
import { bytesOfUpload } from "./UploadBytes.js"
import { WorkingTrees } from "./WorkingTrees.js"
import type { FileContent, FileList, UploadedFile } from "./WorkspaceFile.js"

type UploadFailure =
  | FileFailure
  | Denied
  | ReinsError<"invalid_transition" | "payload_too_large" | "quota_exhausted" | "version_conflict">

/** The files in the workspace of a session. An agent may work there at the same time. */
export class SessionFiles extends Context.Tag("@reins/core/worktrees/SessionFiles")<
  SessionFiles,
  {
    /** Lists one directory; the empty path is the root. Fails as `read` does. */
    readonly list: (
      principal: Principal,
      sessionId: string,
      path: string
    ) => Effect.Effect<FileList, Unseen | FileFailure>
    /**
     * Reads a regular file, cut at the limit for reads. Fails with `executor_unavailable` until there is a workspace, and with
     * `invalid_transition` once it is removed.
     */
    readonly read: (
      principal: Principal,
      sessionId: string,
      path: string
    ) => Effect.Effect<FileContent, Unseen | FileFailure>
    /**
     * Writes a file into the workspace in one step, and makes the workspace first where there is none. Fails with `version_conflict` when
     * another file is there than was expected, and with `quota_exhausted` when the workspace has its share of the disk. A repetition writes the same again. Messages attach the file by the id of its upload.
     */
    readonly upload: (principal: Principal, sessionId: string, file: FileUpload) => Command<UploadedFile, UploadFailure>
  }
>() {
  static readonly layer = Layer.effect(
    SessionFiles,
    Effect.gen(function* () {
      const access = yield* Access
      const journal = yield* Journal
      const store = yield* SessionStore
      const uploads = yield* UploadStore
      const trees = yield* WorkingTrees
      const placements = yield* Placements
      const projects = yield* Projects
      const { files } = yield* Bench
      const treeOf = yield* makeFind
      const quotas = yield* Quotas
      const snapshots = yield* Snapshots
      const { limits } = yield* CoreConfig

      /** Writes the file. A file with the same content counts as written, because an earlier try may have been broken off. */
      const put = (session: SessionRow, upload: FileUpload, bytes: Uint8Array) =>
        files
          .write(session.id, upload.path, bytes, {
            ...(upload.expected_digest !== undefined && { expectedDigest: upload.expected_digest }),
            ...(upload.mode !== undefined && { mode: Number.parseInt(upload.mode, 8) })
          })
          .pipe(
            Effect.catchTag("FileDigestMismatch", (mismatch) =>
              mismatch.actual === digestOf(bytes)
                ? Effect.succeed({ path: upload.path, size: bytes.length, digest: mismatch.actual })
                : Effect.fail(digestConflict(mismatch))
            ),
            Effect.mapError((error) => (error._tag === "ReinsError" ? error : failureOf("body", error)))
          )

      return SessionFiles.of({
        list: fn("SessionFiles.list")(function* (principal, sessionId, path) {
          const id = yield* treeOf(principal, sessionId)
          const { items, truncated } = yield* Effect.mapError(files.list(id, path), (error) =>
            failureOf("query", error)
          )
          return {
            items: items.map((item) => ({
              ...item,
              modified_at: fromMillis(DateTime.toEpochMillis(item.modified_at))
            })),
            truncated
          }
        }),
        read: fn("SessionFiles.read")(function* (principal, sessionId, path) {
          const id = yield* treeOf(principal, sessionId)
          return yield* Effect.mapError(files.read(id, path, limits.fileReadBytes), (error) =>
            failureOf("query", error)
          )
        }),
        upload: (principal, sessionId, upload) =>
          journal.prepared(
            "SessionFiles.upload",
            { by: principal, about: { type: "session", id: sessionId } },
            Effect.gen(function* () {
              const session = yield* store.readable(principal, sessionId)
              yield* access.writeWithin(principal, session.workspace_id, [
                session.id,
                session.lineage.parent_session_id
              ])
              yield* requireAll(sessionRules.upload_file, session)
              yield* Effect.mapError(parseWorkspacePath(upload.path), (error) => failureOf("body", error))
              yield* quotas.disk(session.workspace_id)
              const bytes = yield* bytesOfUpload(upload, limits.uploadBytes)
              // A setup may take longer than any request waits.
              if (session.tree.state !== "ready" && hasSetup(yield* projects.specOf(session)))
                return yield* notSetUp(session)
              const mode = upload.mode === undefined ? null : Number.parseInt(upload.mode, 8)
              const keep = yield* Effect.mapError(snapshots.keepUpload(session.id, { bytes, mode }), notKept)
              const written = yield* Effect.mapError(trees.make(session.id), notMade).pipe(
                Effect.zipRight(put(session, upload, bytes)),
                // The workspace of a session that was closed meanwhile is gone, which tells nothing about the path.
                Effect.tapError(() => Effect.flatMap(store.readable(principal, sessionId), requireNotClosed))
              )
              yield* failpoint("upload.written")
              return Effect.gen(function* () {
                yield* placements.fence(session.id)
                const row = yield* store.writable(principal, sessionId)
                // The session was closed meanwhile, and the file is removed with its workspace.
                yield* requireNotClosed(row)
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
    })
  )
}

/** Gives the directory of the files of a session, for a principal that may read it. */
const makeFind = Effect.gen(function* () {
  const store = yield* SessionStore
  const trees = yield* WorkingTrees
  const bench = yield* Bench
  const projects = yield* Projects

  const makeAnew = Effect.fnUntraced(function* (id: SessionId) {
    const session = yield* existingOf("session", store.find)(id)
    if (session.tree.state === "ready" || session.tree.state === "removed") return
    // A setup may take longer than any request waits.
    if (hasSetup(yield* projects.specOf(session))) return yield* notSetUp(session)
    yield* Effect.mapError(trees.make(id), notMade)
  })

  return Effect.fnUntraced(function* (principal: Principal, sessionId: string) {
    const session = yield* store.readable(principal, sessionId)
    if (session.tree.state !== "ready") return yield* noWorkspace(session)
    yield* trees.requireOwned(session.id)
    // Files that a lost machine took along without a snapshot are made anew from the repository, and what was uploaded is among them.
    if (!(yield* bench.trees.look(session.id)).isThere) yield* makeAnew(session.id)
    return session.id
  })
})

const requireNotClosed = (row: SessionRow) => (row.lifecycle === "closed" ? Effect.fail(notOpen(row)) : Effect.void)

const notSetUp = (session: SessionRow): ReinsError<"executor_unavailable"> =>
  new ReinsError({
    code: "executor_unavailable",
    message:
      `The setup of the project has not ended in this session. POST /api/sessions/${session.id}/executor/activations runs it; wait for the ` +
      "event workspace.restored, then upload.",
    details: { workspace: session.tree.state }
  })

const notKept = ({ message }: SnapshotError): ReinsError<"executor_unavailable"> =>
  new ReinsError({
    code: "executor_unavailable",
    message: `The file could not be kept safe, so it was not written. ${message}`,
    details: { reason: "snapshot_failed" }
  })

const notMade = (error: GitError): ReinsError<"executor_unavailable"> =>
  new ReinsError({
    code: "executor_unavailable",
    message: `The workspace could not be made. ${error.message}`,
    details: { reason: error.kind }
  })
