import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it, layer as suiteOver } from "@effect/vitest"
import type { Principal } from "@reins/base/domain/Principal"
import { Delegations } from "@reins/core/delegations/Delegations"
import { Deletions } from "@reins/core/deletion/Deletions"
import { WorkspaceEvents } from "@reins/core/events/WorkspaceEvents"
import { Accounts } from "@reins/core/identity/Accounts"
import { Messages } from "@reins/core/sessions/Messages"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Turns } from "@reins/core/sessions/Turns"
import * as DatabaseFile from "@reins/core/store/DatabaseFile"
import { databaseFile } from "@reins/core/store/DataDirectory"
import { SessionFiles } from "@reins/core/worktrees/SessionFiles"
import { Snapshots } from "@reins/core/worktrees/snapshots/Snapshots"
import { callingAgents } from "@reins/testing/harness/SmallAgent"
import { filesHolding } from "@reins/testing/harness/Turns"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { databases } from "@reins/testing/store/Databases"
import { Effect, Schedule } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { makeRemote, temporaryDirectory, withAgent } from "../execution/Agent.js"
import { rowsHolding } from "./Traces.js"

/** The end of all words that a session is full of. None of them may be found after it. */
const mark = "xqcanary"

const words = {
  title: "titlexqcanary",
  later: "renamedxqcanary",
  label: "labelxqcanary",
  prompt: "promptxqcanary",
  answer: "answerxqcanary",
  upload: "uploadxqcanary",
  path: "pathxqcanary",
  written: "writtenxqcanary",
  published: "publishedxqcanary"
}

const finished = (principal: Principal, id: string) =>
  Effect.flatMap(Deletions, (deletions) =>
    Effect.zipRight(
      Effect.repeat(deletions.get(principal, id), {
        until: ({ state }) => state === "deleted",
        schedule: Schedule.spaced("20 millis")
      }),
      deletions.get(principal, id)
    )
  )

for (const { layer, name } of databases) {
  describe(`the deletion of a session on ${name}`, () => {
    it.scopedLive(
      "leaves nothing of it in the database, on the disk, in the blobs and in a copy, but its receipt",
      () =>
        Effect.gen(function* () {
          const blobs = join(yield* temporaryDirectory, "blobs")
          yield* withAgent(
            "alpha_gateway",
            ({ dataDir, directory, principal, runTurn, workspaceId }) =>
              Effect.gen(function* () {
                const sessions = yield* Sessions
                const remote = makeRemote(directory)
                const other = yield* sessions.create(principal, workspaceId, { title: "It stays" })
                const { id } = yield* sessions.create(principal, workspaceId, {
                  title: words.title,
                  labels: { team: words.label },
                  repository: { url: remote.url }
                })
                yield* (yield* SessionFiles).upload(principal, id, {
                  path: `${words.path}.txt`,
                  content: `${words.upload}\n`
                })
                const turn = yield* runTurn(
                  id,
                  script(
                    words.prompt,
                    { tool: "write", path: "new.txt", content: `${words.written}\n` },
                    { tool: "publish_artifact", args: { path: "new.txt", title: words.published } },
                    { say: words.answer }
                  )
                )
                assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
                yield* sessions.update(principal, id, { title: words.later })
                yield* sessions.update(principal, other.id, { title: "It stays still" })
                yield* Effect.repeat((yield* Snapshots).isUnsealed(id), {
                  until: (isUnsealed) => !isUnsealed,
                  schedule: Schedule.spaced("20 millis")
                })
                for (const word of [words.answer, words.later, words.published])
                  assert.isNotEmpty(yield* rowsHolding(word), word)

                const deletions = yield* Deletions
                const receipt = yield* deletions.deleteSession(principal, id)
                assert.deepInclude(receipt, { session_id: id, state: "deleting", finished_at: null })
                assert.strictEqual((yield* Effect.flip(sessions.get(principal, id))).code, "not_found")
                const done = yield* finished(principal, id)
                assert.deepStrictEqual({ ...done, state: "deleting", finished_at: null }, receipt)

                assert.deepStrictEqual(yield* rowsHolding(id), [
                  "events",
                  "jobs",
                  "session_deletions",
                  "workspace_events"
                ])
                assert.deepStrictEqual(
                  readdirSync(blobs, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()),
                  []
                )
                assert.isFalse(existsSync(join(dataDir, "sessions", id)))
                if (name === "SQLite") yield* DatabaseFile.copy(databaseFile(dataDir), join(directory, "copied.db"))
                for (const text of [mark, turn.id]) {
                  assert.deepStrictEqual(yield* rowsHolding(text), [], text)
                  assert.deepStrictEqual(yield* Effect.promise(() => filesHolding(directory, text)), [], text)
                }
                const { items } = yield* (yield* WorkspaceEvents).page(principal, workspaceId, { limit: 500 })
                assert.deepStrictEqual(
                  items.filter(({ event }) => event.session_id === id).map(({ event }) => event.type),
                  ["session.deleted"]
                )
                assert.deepStrictEqual(
                  items.filter(({ event }) => event.session_id === other.id).map(({ event }) => event.type),
                  ["session.created", "session.updated"]
                )
                assert.deepStrictEqual(yield* deletions.deleteSession(principal, id), done)
              }),
            { blobs: { kind: "directory", path: blobs } },
            callingAgents,
            name === "SQLite" ? undefined : layer
          )
        }),
      240_000
    )

    suiteOver(services(layer), { excludeTestServices: true })((it) => {
      it.effect(
        "is refused while a turn waits, takes the sessions that work for it, and is only for whoever may change it",
        () =>
          Effect.gen(function* () {
            const { principal, workspaceId } = yield* ownerWithConnection
            const sessions = yield* Sessions
            const deletions = yield* Deletions
            const turns = yield* Turns
            const { id, turn_id } = yield* sessions.create(principal, workspaceId, { message: "Work" })
            const refusal = (of: Principal, sessionId: string) =>
              Effect.map(Effect.flip(deletions.deleteSession(of, sessionId)), ({ code }) => code)
            assert.strictEqual(yield* refusal(principal, id), "turn_active")
            yield* turns.cancel(principal, turn_id ?? "")
            const { delegation } = yield* (yield* Delegations).spawn(principal, id, {
              role: "scout",
              instructions: "Look."
            })
            const child = delegation.child_session_id
            assert.strictEqual(yield* refusal(principal, id), "turn_active")
            for (const turn of (yield* turns.list(principal, child, {})).items) yield* turns.cancel(principal, turn.id)
            assert.strictEqual(yield* refusal(principal, child), "invalid_transition")
            const stranger = yield* (yield* Accounts).createVerified({
              email: `other-${name}@example.com`,
              password: null
            })
            assert.strictEqual(yield* refusal({ ...principal, accountId: stranger.id }, id), "not_found")
            assert.strictEqual((yield* Effect.flip(deletions.get(principal, id))).code, "not_found")

            yield* deletions.deleteSession(principal, id)
            for (const gone of [id, child]) {
              assert.strictEqual((yield* Effect.flip(sessions.get(principal, gone))).code, "not_found")
              assert.strictEqual((yield* Effect.flip((yield* Messages).list(principal, gone, {}))).code, "not_found")
            }
            const listed = yield* sessions.list(principal, workspaceId, {})
            assert.notIncludeMembers(
              listed.items.map((session) => session.id),
              [id, child]
            )
            const receipts = yield* deletions.list(principal, workspaceId, {})
            assert.deepStrictEqual(
              receipts.items.map(({ deleted_with, session_id }) => [session_id, deleted_with]),
              [
                [child, id],
                [id, null]
              ]
            )
            assert.strictEqual(
              (yield* Effect.flip(deletions.get({ ...principal, accountId: stranger.id }, id))).code,
              "not_found"
            )
          })
      )
    })
  })
}
