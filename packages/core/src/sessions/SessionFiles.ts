import { Context, DateTime, Effect, Layer, ParseResult, Schema } from "effect"
import { Access, actorOf } from "../access/Access.js"
import type { FileUpload } from "../api/SessionsApi.js"
import { CoreConfig } from "../base/CoreConfig.js"
import { inItsTurn } from "../base/EventLoop.js"
import { failpoint } from "../base/Failpoint.js"
import { fn } from "../base/Traced.js"
import type { Principal } from "../domain/Principal.js"
import { ReinsError } from "../domain/ReinsError.js"
import { RequestInvalid } from "../domain/RequestInvalid.js"
import { fromMillis } from "../domain/Timestamp.js"
import type { FileContent, FileList, UploadedFile } from "../domain/WorkspaceFile.js"
import { type FileDigestMismatch, type FileError, Files } from "../files/Files.js"
import { type PathRefused, parseWorkspacePath } from "../files/WorkspacePath.js"
import type { GitError } from "../git/GitError.js"
import { digestOf } from "../store/CanonicalJson.js"
import type { Command } from "../store/Command.js"
import { Journal } from "../store/Journal.js"
import { storageError } from "../store/StorageFault.js"
import { type SessionRow, SessionStore } from "./SessionStore.js"
import { notOpen } from "./Turns.js"
import { Uploads } from "./Uploads.js"
import { WorkingTrees } from "./WorkingTrees.js"

type Failure = ReinsError | RequestInvalid

/** The files in the workspace of a session, with or without an agent that works there at the same time. */
export class SessionFiles extends Context.Tag("@reins/core/sessions/SessionFiles")<
  SessionFiles,
  {
    /** One directory; the empty path is the root. Fails with `executor_unavailable` while there is no workspace. */
    readonly list: (principal: Principal, sessionId: string, path: string) => Effect.Effect<FileList, Failure>
    /** A regular file, cut at the limit for reads. Fails with `executor_unavailable` while there is no workspace. */
    readonly read: (principal: Principal, sessionId: string, path: string) => Effect.Effect<FileContent, Failure>
    /**
     * Puts a file into the workspace in one step, also while an agent works, and makes the workspace first where there is none. Fails
     * with `version_conflict` when another file is there than was expected. Repeating it writes the same again. Messages attach the
     * file by the id of its upload.
     */
    readonly upload: (principal: Principal, sessionId: string, file: FileUpload) => Command<UploadedFile, Failure>
  }
>() {
  static readonly layer = Layer.effect(
    SessionFiles,
    Effect.gen(function* () {
      const access = yield* Access
      const journal = yield* Journal
      const store = yield* SessionStore
      const uploads = yield* Uploads
      const trees = yield* WorkingTrees
      const files = yield* Files
      const { limits } = yield* CoreConfig

      /** The root of the files of a session that the principal may read. */
      const rootOf = Effect.fnUntraced(function* (principal: Principal, sessionId: string) {
        const session = yield* store.readable(principal, sessionId)
        if (session.workspace_state !== "ready") return yield* noWorkspace(session)
        return trees.paths(session.id).workTree
      })

      /** Writes the file; one that is there already because an earlier try was broken off is taken for written. */
      const put = (session: SessionRow, upload: FileUpload, bytes: Uint8Array) =>
        files
          .write(trees.paths(session.id).workTree, upload.path, bytes, {
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
          const root = yield* rootOf(principal, sessionId)
          const { items, truncated } = yield* Effect.mapError(files.list(root, path), (error) =>
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
          const root = yield* rootOf(principal, sessionId)
          return yield* Effect.mapError(files.read(root, path, limits.fileReadBytes), (error) =>
            failureOf("query", error)
          )
        }),
        upload: (principal, sessionId, upload) =>
          journal.prepared(
            "SessionFiles.upload",
            Effect.gen(function* () {
              const session = yield* store.readable(principal, sessionId)
              yield* access.write(principal, session.workspace_id)
              if (session.lifecycle !== "open") return yield* notOpen(session)
              yield* Effect.mapError(parseWorkspacePath(upload.path), (error) => failureOf("body", error))
              const bytes = yield* bytesOf(upload, limits.uploadBytes)
              yield* Effect.mapError(trees.make(session.id), notMade)
              const written = yield* put(session, upload, bytes)
              yield* failpoint("upload.written")
              return Effect.gen(function* () {
                const row = yield* store.writable(principal, sessionId)
                // Closed meanwhile: the file goes with the workspace.
                if (row.lifecycle === "closed") return yield* notOpen(row)
                yield* journal.append(row.id, actorOf(principal), [
                  { type: "workspace.changed", payload: { base_commit: row.base_commit, path: written.path } }
                ])
                return { upload_id: yield* uploads.record(row.id, written), file: written }
              })
            })
          )
      })
    })
  )
}

/** Bytes that are compared at once, by threes as base64 writes them: a second copy of the whole text would be as large as the first. */
const pieceBytes = 3 * 256 * 1024

/** Whether a text is exactly what its bytes are written as: Buffer reads what it can and drops the rest. */
const isBase64Of = (bytes: Buffer, text: string): boolean => {
  const lengthOf = (size: number) => Math.ceil(size / 3) * 4
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    const piece = bytes.toString("base64", at, at + pieceBytes)
    if (!text.startsWith(piece, lengthOf(at))) return false
  }
  return text.length === lengthOf(bytes.length)
}

const bytesOf = Effect.fnUntraced(function* ({ content, encoding }: FileUpload, maxBytes: number) {
  const bytes = yield* inItsTurn(content.length, () => Buffer.from(content, encoding === "base64" ? "base64" : "utf8"))
  if (bytes.length > maxBytes) {
    return yield* new ReinsError({
      code: "payload_too_large",
      message: `A file may have ${maxBytes} bytes; this one has ${bytes.length}.`,
      details: { limit_bytes: maxBytes, size: bytes.length }
    })
  }
  const isWhole = () => (encoding === "base64" ? isBase64Of(bytes, content) : !/\p{Surrogate}/u.test(content))
  if (yield* inItsTurn(content.length, isWhole)) return bytes
  return yield* invalid(
    "body",
    "content",
    encoding === "base64"
      ? "it is not standard base64 with padding and without line breaks"
      : "it holds half of a surrogate pair, which UTF-8 cannot hold",
    content.slice(0, 100)
  )
})

const invalid = (part: "query" | "body", field: string, why: string, input: string): RequestInvalid =>
  new RequestInvalid({ loc: [part, field], issue: new ParseResult.Type(Schema.String.ast, input, why), input })

const refusals: Record<PathRefused["reason"], string> = {
  empty: "the path is empty",
  absolute: "the path has to be relative to the workspace",
  traversal: "the path must not hold . or .. as a component",
  nul_byte: "the path must not hold a NUL byte",
  backslash: "the path must not hold a backslash; components are parted by /",
  malformed: "the path must not hold empty components or characters that UTF-8 cannot hold",
  segment_too_long: "a component of the path may have 255 bytes",
  too_long: "the path may have 4096 bytes",
  git_directory: "the directory of a git repository is not reachable",
  symlink: "the path leads over a symbolic link, which is not followed",
  hard_link: "it is a hard link to a file outside the workspace",
  special_file: "this is no regular file"
}

/** What is wrong with a path is a malformed request; what is not there is not found. */
const failureOf = (part: "query" | "body", error: FileError): Failure => {
  switch (error._tag) {
    case "PathRefused":
      return invalid(part, "path", refusals[error.reason], error.path)
    case "NotAFile":
      return invalid(part, "path", "this is a directory", error.path)
    case "NotADirectory":
      return invalid(part, "path", "a component of the path that has to be a directory is none", error.path)
    case "FileNotFound":
      return new ReinsError({
        code: "not_found",
        message: "Nothing is at this path in the workspace.",
        details: { path: error.path }
      })
    case "FileAccessFailed":
      if (error.reason === "disk_full" || error.reason === "read_only") return storageError(error.reason)
      return new ReinsError({
        code: "executor_unavailable",
        message:
          error.reason === "denied"
            ? "The permissions of the file or its directory refuse it. Change them with the agent."
            : "The file system failed. Try again, or tell the operator.",
        details: { path: error.path, reason: error.reason }
      })
  }
}

const digestConflict = (mismatch: FileDigestMismatch): ReinsError =>
  new ReinsError({
    code: "version_conflict",
    message: "Another file is at this path than was expected. Read it again and repeat the upload.",
    details: { path: mismatch.path, expected_digest: mismatch.expected, actual_digest: mismatch.actual }
  })

const noWorkspace = (session: SessionRow): ReinsError =>
  new ReinsError({
    code: "executor_unavailable",
    message:
      session.workspace_state === "removed"
        ? "The session is closed and its workspace removed. Its changesets can still be read."
        : `The session has no workspace yet. POST /api/sessions/${session.id}/executor/activations makes it, ` +
          "and so do an upload and the first message.",
    details: { workspace: session.workspace_state }
  })

const notMade = (error: GitError): ReinsError =>
  new ReinsError({
    code: "executor_unavailable",
    message: `The workspace could not be made. ${error.message}`,
    details: { reason: error.kind }
  })
