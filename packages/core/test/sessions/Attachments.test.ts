import { assert, describe, it } from "@effect/vitest"
import { maxAttachments } from "@reins/base/base/CoreLimits"
import { newId, UploadId } from "@reins/base/domain/Ids"
import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { Messages } from "@reins/core/sessions/Messages"
import { Sessions } from "@reins/core/sessions/Sessions"
import { SessionFiles } from "@reins/core/worktrees/SessionFiles"
import { mediaTypeOf } from "@reins/machine/bench/MediaType"
import { faultsOf } from "@reins/testing/Faults"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect } from "effect"

/** The faults of a request, each with its place. */
const refusalOf = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.map(Effect.flip(effect), (error) =>
    error instanceof RequestInvalid ? faultsOf(error).map(({ loc, msg }) => [loc.join("."), msg]) : error
  )

const notOfSession = "it is no upload of this session"

const twoSessions = Effect.gen(function* () {
  const { principal, workspaceId } = yield* ownerWithConnection
  const sessions = yield* Sessions
  const session = yield* sessions.create(principal, workspaceId, {})
  const other = yield* sessions.create(principal, workspaceId, {})
  const files = yield* SessionFiles
  const upload = (sessionId: string, path: string) =>
    Effect.map(files.upload(principal, sessionId, { path, content: path }), ({ upload_id }) => upload_id)
  return { principal, workspaceId, session, other, upload, messages: yield* Messages, sessions }
})

for (const { layer, name } of flowDatabases) {
  describe(`attachments on ${name}`, () => {
    it.scopedLive(
      "a message keeps its files as they were uploaded, those that are attached after those in its content",
      () =>
        Effect.gen(function* () {
          const { messages, principal, session, upload } = yield* twoSessions
          const first = yield* upload(session.id, "a.txt")
          const second = yield* upload(session.id, "docs/b.md")
          const { message } = yield* messages.send(principal, session.id, {
            content: [
              { type: "file", upload_id: second },
              { type: "text", text: "Compare them." }
            ],
            attachments: [first],
            routing: "note"
          })
          assert.deepStrictEqual(
            message.content.map((block) =>
              block.type === "text" ? block.text : [block.upload_id, block.path, block.size]
            ),
            [[second, "docs/b.md", 9], "Compare them.", [first, "a.txt", 5]]
          )
          const [kept] = (yield* messages.list(principal, session.id, {})).items
          assert.deepStrictEqual(kept, message)
          const alone = yield* messages.send(principal, session.id, {
            content: [{ type: "file", upload_id: first }],
            routing: "note"
          })
          assert.strictEqual(alone.message.content.length, 1)
        }).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive("an upload of another session is refused like one that is none, and nothing is stored", () =>
      Effect.gen(function* () {
        const { messages, other, principal, session, sessions, upload, workspaceId } = yield* twoSessions
        const foreign = yield* upload(other.id, "a.txt")
        for (const id of [foreign, yield* newId(UploadId)]) {
          const inContent = messages.send(principal, session.id, {
            content: [
              { type: "text", text: "Look." },
              { type: "file", upload_id: id }
            ]
          })
          assert.deepStrictEqual(yield* refusalOf(inContent), [["body.content.1.upload_id", notOfSession]])
          const attached = messages.send(principal, session.id, { content: "Look.", attachments: [id] })
          assert.deepStrictEqual(yield* refusalOf(attached), [["body.attachments.0", notOfSession]])
          const atCreation = sessions.create(principal, workspaceId, { message: [{ type: "file", upload_id: id }] })
          assert.deepStrictEqual(yield* refusalOf(atCreation), [["body.message.0.upload_id", notOfSession]])
        }
        assert.deepStrictEqual((yield* messages.list(principal, session.id, {})).items, [])
        assert.strictEqual((yield* sessions.list(principal, workspaceId, {})).items.length, 2)
      }).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive("a message with more files than the limit is refused, wherever they stand", () =>
      Effect.gen(function* () {
        const { messages, principal, session, upload } = yield* twoSessions
        const id = yield* upload(session.id, "a.txt")
        const many = (count: number) => Array.from({ length: count }, () => id)
        const send = (inContent: number, attached: number) =>
          messages.send(principal, session.id, {
            content: [
              { type: "text", text: "Look." },
              ...many(inContent).map((upload_id) => ({ type: "file" as const, upload_id }))
            ],
            attachments: many(attached),
            routing: "note"
          })
        assert.strictEqual((yield* send(1, maxAttachments - 1)).message.content.length, maxAttachments + 1)
        assert.deepStrictEqual(yield* refusalOf(send(1, maxAttachments)), [
          ["body.content", `a message may have ${maxAttachments} files`]
        ])
      }).pipe(Effect.provide(services(layer)))
    )
  })
}

it.effect("a media type is told by the end of the name alone, and no source code is a video", () =>
  Effect.gen(function* () {
    const told = {
      "a.b.JSON": "application/json",
      "notes.md": "text/markdown",
      "plan.yml": "application/yaml",
      "sheet.xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
      "photo.HEIC": "image/heic",
      "Main.ts": "text/plain",
      "lib.rs": "text/plain",
      ".txt": "text/plain",
      Makefile: null,
      pdf: null,
      "x.constructor": null
    }
    for (const [name, type] of Object.entries(told)) assert.strictEqual(yield* mediaTypeOf(name), type, name)
  })
)
