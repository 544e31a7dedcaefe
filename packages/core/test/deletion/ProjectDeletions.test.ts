import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it, layer as suiteOver } from "@effect/vitest"
import type { Principal } from "@reins/base/domain/Principal"
import { ProjectDeletions } from "@reins/core/deletion/ProjectDeletions"
import { Accounts } from "@reins/core/identity/Accounts"
import { ProjectSecrets } from "@reins/core/projects/ProjectSecrets"
import { Projects } from "@reins/core/projects/Projects"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Turns } from "@reins/core/sessions/Turns"
import { eventually } from "@reins/testing/process/Waiting"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect, Redacted, Schedule } from "effect"
import { say, withAgent } from "../execution/Agent.js"
import { requireNoTrace, rowsHolding } from "./Traces.js"

/** The end of all words that a project is full of. None of them may be found after it. */
const mark = "pqcanary"

const finished = (principal: Principal, id: string) =>
  Effect.flatMap(ProjectDeletions, (deletions) =>
    Effect.zipRight(
      Effect.repeat(deletions.get(principal, id), {
        until: ({ state }) => state === "deleted",
        schedule: Schedule.spaced("20 millis")
      }),
      deletions.get(principal, id)
    )
  )

for (const { layer, name } of flowDatabases) {
  describe(`the deletion of a project on ${name}`, () => {
    it.scopedLive(
      "leaves nothing of it in the database, on the disk and in a copy, and its sessions go on without it",
      () =>
        withAgent(
          "alpha_gateway",
          ({ dataDir, directory, eventsUntil, principal, runTurn, workspaceId }) =>
            Effect.gen(function* () {
              const projects = yield* Projects
              const sessions = yield* Sessions
              const project = yield* projects.create(principal, workspaceId, {
                slug: `slug-${mark}`,
                name: `name${mark}`,
                description: `description${mark}`,
                spec: {
                  environment: [
                    { name: "MODE", value: `value${mark}` },
                    { name: "TOKEN", secret: `secret-${mark}` }
                  ],
                  setup: [{ name: "prepare", argv: ["sh", "-c", `echo "$MODE" > ~/prepared`] }],
                  delivery: { branch_prefix: `prefix${mark}/` }
                }
              })
              yield* (yield* ProjectSecrets).put(
                principal,
                project.id,
                `secret-${mark}`,
                Redacted.make(`hidden${mark}`)
              )
              const { id } = yield* sessions.create(principal, workspaceId, { project_id: project.id, title: "Stays" })
              assert.strictEqual((yield* runTurn(id, say("One."))).state, "succeeded")
              const closed = yield* sessions.create(principal, workspaceId, { project_id: project.id })
              yield* sessions.close(principal, closed.id)
              const setups = join(dataDir, "setups")
              assert.isTrue(readdirSync(setups).some((entry) => /^[0-9a-f]{64}$/.test(entry)))

              const deletions = yield* ProjectDeletions
              const receipt = yield* deletions.deleteProject(principal, project.id)
              assert.deepInclude(receipt, { kind: "project", id: project.id, workspace_id: workspaceId })
              assert.strictEqual((yield* Effect.flip(projects.get(principal, project.id))).code, "not_found")
              assert.lengthOf((yield* projects.list(principal, workspaceId, {})).items, 0)
              const again = yield* projects.create(principal, workspaceId, { slug: `slug-${mark}`, name: "Another" })
              assert.notStrictEqual(again.id, project.id)
              yield* finished(principal, again.id).pipe(Effect.flip)
              yield* deletions.deleteProject(principal, again.id)
              yield* finished(principal, again.id)

              const done = yield* finished(principal, project.id)
              assert.deepStrictEqual({ ...done, state: "deleting", finished_at: null }, receipt)
              assert.deepStrictEqual(yield* deletions.deleteProject(principal, project.id), done)
              for (const each of [id, closed.id]) {
                assert.deepInclude(yield* sessions.get(principal, each), { project_id: null, project_version_id: null })
              }
              // A spare copy that was being made goes as soon as its maker finds that the snapshot is gone.
              const isEmpty = () => readdirSync(setups).every((entry) => entry.endsWith(".lock"))
              yield* Effect.promise(() => eventually("nothing of the setup", isEmpty))
              // The home of the session is its own: it has what the setup has left there.
              const ownFiles = join(dataDir, "sessions", id)
              assert.isTrue(existsSync(ownFiles))
              yield* eventsUntil(id, ({ type }) => type === "session.updated")
              yield* requireNoTrace(directory, dataDir, [`name${mark}`, `description${mark}`, `prefix${mark}`])
              yield* requireNoTrace(directory, dataDir, [`slug-${mark}`, `secret-${mark}`, `hidden${mark}`])
              assert.deepStrictEqual(yield* rowsHolding(`value${mark}`), [])
              assert.deepStrictEqual(
                (yield* rowsHolding(project.id)).filter((table) => table !== "events"),
                ["deletions", "jobs"]
              )
              assert.strictEqual((yield* runTurn(id, say("Two."))).state, "succeeded")
            }),
          {},
          undefined,
          name === "SQLite" ? undefined : layer
        ),
      240_000
    )

    suiteOver(services(layer), { excludeTestServices: true })((it) => {
      it.effect("is refused while a session of it has a turn, and is only for whoever may change it", () =>
        Effect.gen(function* () {
          const { principal, workspaceId } = yield* ownerWithConnection
          const projects = yield* Projects
          const sessions = yield* Sessions
          const turns = yield* Turns
          const deletions = yield* ProjectDeletions
          const { id } = yield* projects.create(principal, workspaceId, { slug: "used", name: "Used", spec: {} })
          const refusal = (of: Principal) =>
            Effect.map(Effect.flip(deletions.deleteProject(of, id)), ({ code }) => code)
          const { turn_id } = yield* sessions.create(principal, workspaceId, { project_id: id, message: "Work" })
          assert.strictEqual(yield* refusal(principal), "turn_active")
          yield* turns.cancel(principal, turn_id ?? "")
          const stranger = yield* (yield* Accounts).createVerified({
            email: `project-${name}@example.com`,
            password: null
          })
          assert.strictEqual(yield* refusal({ ...principal, accountId: stranger.id }), "not_found")
          assert.strictEqual(yield* refusal({ ...principal, scopes: ["write"] }), "insufficient_scope")
          assert.strictEqual((yield* Effect.flip(deletions.get(principal, id))).code, "not_found")
          yield* deletions.deleteProject(principal, id)
          const begun = sessions.create(principal, workspaceId, { project_id: id })
          assert.strictEqual((yield* Effect.flip(begun))._tag, "ReinsError")
          assert.strictEqual((yield* deletions.get(principal, id)).state, "deleting")
        })
      )
    })
  })
}
