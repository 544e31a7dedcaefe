import { maxAttachments } from "@reins/base/base/CoreLimits"
import { fn } from "@reins/base/base/Traced"
import { newId, type SessionId, UploadId } from "@reins/base/domain/Ids"
import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { now } from "@reins/base/domain/Timestamp"
import type { UploadPlace } from "@reins/base/domain/UploadPlace"
import { Context, Effect, Layer, ParseResult, Schema } from "effect"
import type { Commit } from "../../store/Commit.js"
import { Database } from "../../store/Database.js"
import type { ContentBlock, FileBlock } from "../rows/Message.js"
import type { MessageSend } from "./ConversationApi.js"

/** A file as it was written to a workspace, or beside it. `size` is in bytes, `digest` is `sha256:<hex>`. */
export interface WrittenFile {
  readonly path: string
  readonly place: UploadPlace
  readonly size: number
  readonly digest: string
}

/**
 * The uploads of sessions, so that messages can refer to them. An upload is a note of a file that was written, and is kept with the session.
 * The bytes are in the workspace or beside it, where the agent may change or delete them.
 */
export class UploadStore extends Context.Tag("@reins/core/sessions/messages/UploadStore")<
  UploadStore,
  {
    /** Notes a file that was written, and gives back the id that messages name it by. */
    readonly record: (sessionId: SessionId, file: WrittenFile) => Effect.Effect<UploadId, never, Commit>
    /** The paths of all files that were uploaded to the workspace of a session. */
    readonly pathsOf: (sessionId: SessionId) => Effect.Effect<ReadonlyArray<string>>
    /**
     * The blocks of a message, its attachments after its content. Fails for an upload that is not of this session, with the same words
     * whether it is of another session or of none. `at` is where the body of the request holds the content.
     */
    readonly contentOf: (
      sessionId: SessionId,
      input: Pick<MessageSend, "content" | "attachments">,
      at: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlyArray<ContentBlock>, RequestInvalid>
  }
>() {
  static readonly layer = Layer.effect(
    UploadStore,
    Effect.gen(function* () {
      const db = yield* Database
      const sql = db.sql

      const blockOf = Effect.fnUntraced(function* (sessionId: SessionId, id: UploadId, loc: RequestInvalid["loc"]) {
        const row = yield* db.first(sql<WrittenFile>`select path, place, size, digest from uploads
          where id = ${id} and session_id = ${sessionId}`)
        if (row === undefined) return yield* invalid(loc, id, "it is no upload of this session")
        const block: FileBlock = { type: "file", upload_id: id, ...row }
        return block
      })

      return UploadStore.of({
        record: fn("UploadStore.record")(function* (sessionId, { digest, path, place, size }) {
          const id = yield* newId(UploadId)
          const row = { id, session_id: sessionId, path, place, size, digest, created_at: yield* now }
          yield* db.run(sql`insert into uploads ${sql.insert(row)}`)
          return id
        }),
        pathsOf: fn("UploadStore.pathsOf")(function* (sessionId) {
          const rows = yield* db.all(sql<Pick<WrittenFile, "path">>`select distinct path from uploads
            where session_id = ${sessionId} and place = 'workspace'`)
          return rows.map(({ path }) => path)
        }),
        contentOf: fn("UploadStore.contentOf")(function* (sessionId, { attachments = [], content }, at) {
          const blocks = typeof content === "string" ? [{ type: "text" as const, text: content }] : content
          const files = blocks.filter((block) => block.type === "file").length + attachments.length
          if (files > maxAttachments) {
            return yield* invalid(["body", ...at], content, `a message may have ${maxAttachments} files`)
          }
          const complete: Array<ContentBlock> = []
          for (const [index, block] of blocks.entries())
            complete.push(
              block.type === "text"
                ? block
                : yield* blockOf(sessionId, block.upload_id, ["body", ...at, index, "upload_id"])
            )
          for (const [index, id] of attachments.entries())
            complete.push(yield* blockOf(sessionId, id, ["body", "attachments", index]))
          return complete
        })
      })
    })
  )
}

const invalid = (loc: RequestInvalid["loc"], input: unknown, why: string): RequestInvalid =>
  new RequestInvalid({ loc, issue: new ParseResult.Type(Schema.String.ast, input, why), input })
