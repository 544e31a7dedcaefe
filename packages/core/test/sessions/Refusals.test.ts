import { assert, describe, layer as suiteOver } from "@effect/vitest"
import { type ErrorCode, errorKinds, ReinsError } from "@reins/base/domain/ReinsError"
import { Applications } from "@reins/core/changes/Applications"
import { Changesets } from "@reins/core/changes/Changesets"
import { HarnessSwitches } from "@reins/core/execution/executor/HarnessSwitches"
import { Workspaces } from "@reins/core/identity/Workspaces"
import { Projects } from "@reins/core/projects/Projects"
import { Sessions } from "@reins/core/sessions/Sessions"
import { SessionFiles } from "@reins/core/worktrees/SessionFiles"
import { WorkingTrees } from "@reins/core/worktrees/WorkingTrees"
import { sealed } from "@reins/testing/changes/Fixture"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect } from "effect"
import { stranger } from "../identity/Principals.js"

const refusalOf = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.map(Effect.flip(effect), (error) =>
    error instanceof ReinsError ? error : assert.fail(`no refusal: ${String(error)}`)
  )

const assertRefusal = (error: ReinsError, code: ErrorCode, message: RegExp, details: object) => {
  assert.strictEqual(error.code, code)
  assert.match(error.message, message)
  assert.deepInclude(error.details, details)
}

for (const { layer, name } of flowDatabases) {
  describe(`what stands in the way of a command, on ${name}`, () => {
    suiteOver(services(layer), { excludeTestServices: true })((it) => {
      it.effect("an archived project starts no session until it is in use again", () =>
        Effect.gen(function* () {
          const { principal, workspaceId } = yield* ownerWithConnection
          const projects = yield* Projects
          const sessions = yield* Sessions
          const project = yield* projects.create(principal, workspaceId, { slug: "shop", name: "Shop", spec: {} })
          const version = { project_version_id: project.latest_version?.id ?? assert.fail("no version") }
          const before = yield* sessions.create(principal, workspaceId, version)
          yield* projects.update(principal, project.id, { archived: true })
          for (const from of [{ project_id: project.id }, version]) {
            const refused = yield* refusalOf(sessions.create(principal, workspaceId, from))
            assertRefusal(refused, "invalid_transition", /project is archived.*archived: false/, {
              resource: "project"
            })
          }
          const onwards = (yield* HarnessSwitches).create(principal, before.id, {
            harness: { provider_id: "alpha" },
            summary: "Go on"
          })
          assert.strictEqual((yield* refusalOf(onwards)).code, "invalid_transition")
          assert.strictEqual((yield* sessions.get(principal, before.id)).lifecycle, "open")
          yield* projects.update(principal, project.id, { archived: false })
          const after = yield* sessions.create(principal, workspaceId, version)
          assert.strictEqual(after.project_id, project.id)
        })
      )

      it.effect("a project without a version starts no session, and says what to do; that of others is not there", () =>
        Effect.gen(function* () {
          const { principal, workspaceId } = yield* ownerWithConnection
          const other = yield* stranger
          const theirs = yield* (yield* Workspaces).create(other, { name: "Theirs" })
          const { id } = yield* (yield* Projects).create(principal, workspaceId, { slug: "bare", name: "Bare" })
          const { create } = yield* Sessions
          const refused = yield* refusalOf(create(principal, workspaceId, { project_id: id }))
          assertRefusal(refused, "invalid_transition", /no version yet. Publish one with POST/, { resource: "project" })
          const hidden = yield* refusalOf(create(other, theirs.id, { project_id: id }))
          assert.strictEqual(hidden.code, "not_found")
        })
      )

      it.effect("a closed session is not changed, and says that it is closed", () =>
        Effect.gen(function* () {
          const { principal, workspaceId } = yield* ownerWithConnection
          const sessions = yield* Sessions
          const { id } = yield* sessions.create(principal, workspaceId, { title: "Before" })
          yield* sessions.archive(principal, id)
          assert.strictEqual((yield* sessions.update(principal, id, { title: "Archived" })).title, "Archived")
          yield* sessions.close(principal, id)
          const refused = yield* refusalOf(sessions.update(principal, id, { title: "After" }))
          assertRefusal(refused, "invalid_transition", /closed for good/, { resource: "session", from: "closed" })
          assert.strictEqual((yield* sessions.get(principal, id)).title, "Archived")
        })
      )

      it.effect("the repository gets no other URL while a turn waits or runs", () =>
        Effect.gen(function* () {
          const { principal, workspaceId } = yield* ownerWithConnection
          const sessions = yield* Sessions
          const [old, url] = ["https://git.example/old.git", "https://git.example/new.git"]
          const { id } = yield* sessions.create(principal, workspaceId, {
            repository: { url: old },
            harness: { provider_id: "alpha", model: "scripted" },
            message: "Begin"
          })
          const moved = sessions.update(principal, id, { title: "New", repository: { url } })
          assertRefusal(yield* refusalOf(moved), "turn_active", /turn waits or runs/, { queued_turns: 1 })
          assert.deepInclude(yield* sessions.get(principal, id), { title: null })
          const same = yield* sessions.update(principal, id, { title: "Same", repository: { url: old } })
          assert.deepInclude(same, { title: "Same" })
        })
      )

      it.effect("a workspace that was never made says how it is made, and may be there later", () =>
        Effect.gen(function* () {
          const { changeset, principal, workspaceId } = yield* sealed
          const { id } = yield* (yield* Sessions).create(principal, workspaceId, {})
          const files = yield* SessionFiles
          const commands = [
            (yield* Applications).request(principal, changeset.id, { target_session_id: id }),
            (yield* Changesets).capture(principal, id, {}),
            files.list(principal, id, ""),
            files.read(principal, id, "a.txt")
          ]
          for (const command of commands) {
            const refused = yield* refusalOf<unknown, unknown>(command)
            const advice = new RegExp(`has no workspace yet. POST /api/sessions/${id}/executor/activations makes it`)
            assertRefusal(refused, "executor_unavailable", advice, { workspace: "none" })
            assert.isTrue(refused.retryable)
          }
        })
      )

      it.effect("a workspace that was removed says so, and that no retry helps", () =>
        Effect.gen(function* () {
          const { changeset, principal, session } = yield* sealed
          const { id } = session
          const files = yield* SessionFiles
          yield* (yield* Sessions).close(principal, id)
          yield* (yield* WorkingTrees).remove(id)
          const reads = [
            (yield* Changesets).capture(principal, id, {}),
            files.list(principal, id, ""),
            files.read(principal, id, "a.txt")
          ]
          for (const read of reads) {
            const refused = yield* refusalOf<unknown, unknown>(read)
            assertRefusal(refused, "invalid_transition", /removed for good/, { resource: "workspace", from: "removed" })
            assert.isFalse(refused.retryable)
          }
          const apply = (yield* Applications).request(principal, changeset.id, { target_session_id: id })
          assertRefusal(yield* refusalOf(apply), "invalid_transition", /closed for good/, { resource: "session" })
        })
      )

      it.effect("no code is promised that nothing answers with: a conflict is the end of an application", () =>
        Effect.sync(() => assert.notProperty(errorKinds, "apply_conflict"))
      )
    })
  })
}
