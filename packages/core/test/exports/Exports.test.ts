import { assert, describe, layer as suiteOver } from "@effect/vitest"
import type { NewEvent } from "@reins/base/domain/Event"
import { ChangesetId, MessageId, newId, type SessionId, type TurnId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import { systemActor } from "@reins/core/access/Access"
import { ChangesetStore } from "@reins/core/changes/ChangesetStore"
import { Exports } from "@reins/core/exports/Exports"
import { type ExportFormat, SessionExport } from "@reins/core/exports/ExportsApi"
import { Accounts } from "@reins/core/identity/Accounts"
import { ProjectSecrets } from "@reins/core/projects/ProjectSecrets"
import { Projects } from "@reins/core/projects/Projects"
import { Messages } from "@reins/core/sessions/Messages"
import { MessageStore } from "@reins/core/sessions/messages/MessageStore"
import { InteractionStore } from "@reins/core/sessions/questions/InteractionStore"
import { nothing } from "@reins/core/sessions/questions/ResolveInteraction"
import type { ToolPayload } from "@reins/core/sessions/rows/ToolCall"
import { Sessions } from "@reins/core/sessions/Sessions"
import { TurnStore } from "@reins/core/sessions/turns/TurnStore"
import { Journal } from "@reins/core/store/Journal"
import { captured, codeOf, installation, remote, workspace } from "@reins/testing/changes/Fixture"
import { newAccount } from "@reins/testing/identity/Identity"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { databases } from "@reins/testing/store/Databases"
import { restOn } from "@reins/testing/Variants"
import { Chunk, Effect, Redacted, Schema, Stream } from "effect"
import { question } from "../execution/Questions.js"

const runner = systemActor("runner")

/** The credential of the connection of the fixture. */
const credential = "k".repeat(32)
const projectSecret = "canary-project-secret"

const textOf = (principal: Principal, sessionId: string, format: ExportFormat) =>
  Effect.gen(function* () {
    const texts = yield* (yield* Exports).write(principal, sessionId, format)
    return Chunk.join(yield* Stream.runCollect(texts), "")
  })

const decode = Schema.decodeUnknown(Schema.parseJson(SessionExport))

const call = (output_text: string): ToolPayload => ({
  tool_id: "call-1",
  kind: "execute",
  title: "Run `npm test`",
  input: { command: "npm test" },
  state: "done",
  output_text,
  diffs: [],
  locations: [],
  media: [],
  truncated: false
})

/** The answer of an agent in a turn, with a question and a tool call. */
const answered = (sessionId: SessionId, turnId: TurnId, output: string) =>
  Effect.gen(function* () {
    const journal = yield* Journal
    const turns = yield* TurnStore
    const interactions = yield* InteractionStore
    const messages = yield* MessageStore
    for (const to of ["preparing", "running"] as const) yield* journal.commit(turns.move(turnId, to, runner))
    const asked = yield* journal.commit(interactions.open(turnId, runner, question))
    if (asked !== undefined)
      yield* journal.commit(interactions.resolve(asked, "answered", { ...nothing, answer: "yes" }, runner))
    yield* journal.commit(
      journal.append(sessionId, runner, [
        { type: "tool.completed", payload: call(output), subjects: { turn_id: turnId } }
      ])
    )
    const id = yield* newId(MessageId)
    const said = `The key is ${credential}.`
    yield* journal.commit(
      messages.complete(id, { id: sessionId }, turnId, runner, {
        content: [{ type: "text", text: said }],
        parts: [
          { kind: "text", part_key: "1", text: said },
          { kind: "tool", part_key: "2", tool: call("```\nfenced\n```") }
        ]
      })
    )
  })

/** A session with an answer of its agent, as far as the database knows. */
const conversation = (said: string, output: string) =>
  Effect.gen(function* () {
    const { principal, workspaceId } = yield* ownerWithConnection
    const session = yield* (yield* Sessions).create(principal, workspaceId, { title: "Fix *the* sum" })
    const { turn_id } = yield* (yield* Messages).send(principal, session.id, { content: said })
    if (turn_id === undefined) return yield* Effect.dieMessage("no turn")
    yield* answered(session.id, turn_id, output)
    return { principal, session, turnId: turn_id }
  })

/** A sealed changeset whose tree is not there. */
const lostChangeset = (sessionId: SessionId) =>
  Effect.gen(function* () {
    const { commit } = yield* Journal
    const changesets = yield* ChangesetStore
    const id = yield* newId(ChangesetId)
    const file = { path: "a.txt", status: "added", mode: "100644", additions: 1, deletions: 0, binary: false } as const
    yield* commit(
      Effect.gen(function* () {
        yield* changesets.open(id, sessionId, runner, { origin: "explicit", label: null, turnId: null })
        yield* changesets.seal(id, { ...captured, files: [file] }, runner)
      })
    )
    return id
  })

for (const { layer, name } of databases) {
  describe(`the export of a session, on ${name}`, () => {
    restOn(name)(() => {
      suiteOver(installation(layer), { excludeTestServices: true })((it) => {
        it.scoped("has the diffs, without secrets", () =>
          Effect.gen(function* () {
            const { change, principal, session } = yield* workspace((yield* remote()).url)
            const changeset = yield* change({ "a.txt": `${credential}\n` })
            const file = yield* decode(yield* textOf(principal, session.id, "json"))
            assert.deepStrictEqual(
              file.changesets.map(({ diff_error, diff_truncated, id }) => [id, diff_truncated, diff_error]),
              [[changeset.id, false, null]]
            )
            assert.match(file.changesets[0]?.diff ?? "", /-one\n\+\[secret\]\n/)
            const markdown = yield* textOf(principal, session.id, "markdown")
            assert.match(markdown, /```diff\ndiff --git a\/a.txt b\/a.txt\n[\s\S]*-one\n\+\[secret\]\n```\n$/)
          })
        )
      })
    })

    suiteOver(services(layer), { excludeTestServices: true })((it) => {
      it.scoped("has all of it, the same each time, and no secret", () =>
        Effect.gen(function* () {
          const { principal, session, turnId } = yield* conversation(
            "Test it.",
            `token ghp_${"a".repeat(36)} of ${credential}`
          )
          const lost = yield* lostChangeset(session.id)
          const text = yield* textOf(principal, session.id, "json")
          assert.strictEqual(yield* textOf(principal, session.id, "json"), text)
          assert.notInclude(text, credential)
          assert.notInclude(text, "ghp_")
          const file = yield* decode(text)
          assert.deepInclude(file, { format: "reins.session", version: 1 })
          assert.strictEqual(file.session.id, session.id)
          assert.notProperty(file.session, "actions")
          assert.deepStrictEqual(
            file.messages.map(({ role }) => role),
            ["user", "assistant"]
          )
          assert.deepStrictEqual(
            file.turns.map(({ id }) => id),
            [turnId]
          )
          assert.deepStrictEqual(
            file.tools.map(({ call, turn_id }) => [call.output_text, turn_id]),
            [["token [secret] of [secret]", turnId]]
          )
          assert.deepStrictEqual(
            file.interactions.map(({ answer, state }) => [state, answer]),
            [["answered", "yes"]]
          )
          assert.deepStrictEqual(
            file.changesets.map(({ diff, id }) => [id, diff]),
            [[lost, null]]
          )
          assert.isNotNull(file.changesets[0]?.diff_error)
          assert.strictEqual(file.usage.session_id, session.id)
        })
      )

      it.scoped("is Markdown for people", () =>
        Effect.gen(function* () {
          const { principal, session } = yield* conversation("# Test it.", "")
          yield* lostChangeset(session.id)
          const text = yield* textOf(principal, session.id, "markdown")
          assert.isTrue(text.startsWith("# Fix \\*the\\* sum\n\n- Session: `sess_"), text)
          assert.deepStrictEqual(text.match(/^## .*$/gm), ["## Conversation", "## Questions", "## Turns", "## Changes"])
          assert.include(text, "\n> # Test it.\n")
          assert.include(text, "\nThe key is [secret].\n")
          assert.include(text, "**execute** `` Run `npm test` `` (done)")
          assert.include(text, "\n````\n```\nfenced\n```\n````\n")
          assert.include(text, "\n- State: answered\n- Answer: Allow")
          assert.include(text, "\nThe diff could not be read: ")
        })
      )

      it.scoped("knows the secrets of the project", () =>
        Effect.gen(function* () {
          const { principal, workspaceId } = yield* ownerWithConnection
          const projects = yield* Projects
          const project = yield* projects.create(principal, workspaceId, {
            slug: `shop-${name.toLowerCase()}`,
            name: "Shop"
          })
          yield* projects.publish(principal, project.id, { spec: {} })
          yield* (yield* ProjectSecrets).put(principal, project.id, "TOKEN", Redacted.make(projectSecret))
          const session = yield* (yield* Sessions).create(principal, workspaceId, {
            project_id: project.id,
            title: `It is ${projectSecret}`
          })
          assert.notInclude(yield* textOf(principal, session.id, "json"), projectSecret)
        })
      )

      it.scoped("is for those who may see the session", () =>
        Effect.gen(function* () {
          const { principal, workspaceId } = yield* ownerWithConnection
          const session = yield* (yield* Sessions).create(principal, workspaceId, {})
          const stranger: Principal = { ...principal, accountId: (yield* newAccount).id }
          assert.isDefined(yield* (yield* Accounts).me(stranger))
          const exports = yield* Exports
          assert.strictEqual(yield* codeOf(exports.write(stranger, session.id, "json")), "not_found")
          assert.strictEqual(yield* codeOf(exports.write(principal, "sess_none", "markdown")), "not_found")
        })
      )

      restOn(name)(() => {
        it.scoped("comes in small pieces, however long the session is", () =>
          Effect.gen(function* () {
            const { principal, workspaceId } = yield* ownerWithConnection
            const session = yield* (yield* Sessions).create(principal, workspaceId, {})
            const journal = yield* Journal
            const event: NewEvent = { type: "tool.completed", payload: call("x".repeat(1000)) }
            for (let batch = 0; batch < 20; batch++)
              yield* journal.commit(
                journal.append(
                  session.id,
                  runner,
                  Array.from({ length: 500 }, () => event)
                )
              )
            const texts = yield* (yield* Exports).write(principal, session.id, "json")
            const seen = yield* Stream.runFold(texts, { pieces: 0, longest: 0 }, ({ longest, pieces }, text) => ({
              pieces: pieces + 1,
              longest: Math.max(longest, text.length)
            }))
            assert.isAbove(seen.pieces, 10_000)
            assert.isBelow(seen.longest, 10_000)
          })
        )
      })
    })
  })
}
