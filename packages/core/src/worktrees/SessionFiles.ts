import { CoreConfig } from "@reins/base/base/CoreConfig"
import { fn } from "@reins/base/base/Traced"
import type { SessionId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import { fromMillis } from "@reins/base/domain/Timestamp"
import { Bench } from "@reins/machine/bench/Bench"
import { Context, DateTime, Effect, Layer } from "effect"
import type { Unseen } from "../access/Access.js"
import { Projects } from "../projects/Projects.js"
import { noWorkspace } from "../sessions/rows/Refusals.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import type { Command } from "../store/Command.js"
import { existingOf } from "../store/Existing.js"
import { type FileFailure, failureOf } from "./FileFailures.js"
import { notMade, notSetUp } from "./FileRefusals.js"
import type { FileUpload } from "./FilesApi.js"
import { makeUpload, type UploadFailure } from "./FileUploads.js"
import { hasSetup } from "./TreeOrders.js"
import { WorkingTrees } from "./WorkingTrees.js"
import type { FileContent, FileList, UploadedFile } from "./WorkspaceFile.js"

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
     * Writes a file into the workspace in one step, or beside it as an attachment, and makes the workspace first where there is none. Fails with `version_conflict` when
     * another file is there than was expected, and with `quota_exhausted` when the workspace has its share of the disk. A repetition writes the same again. Messages attach the file by the id of its upload.
     */
    readonly upload: (principal: Principal, sessionId: string, file: FileUpload) => Command<UploadedFile, UploadFailure>
  }
>() {
  static readonly layer = Layer.effect(
    SessionFiles,
    Effect.gen(function* () {
      const { files } = yield* Bench
      const treeOf = yield* makeFind
      const upload = yield* makeUpload
      const { limits } = yield* CoreConfig

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
        upload
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
