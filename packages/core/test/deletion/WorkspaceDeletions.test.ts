import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it, layer as suiteOver } from "@effect/vitest"
import type { Principal } from "@reins/base/domain/Principal"
import { Connections } from "@reins/core/connections/Connections"
import { ProjectDeletions } from "@reins/core/deletion/ProjectDeletions"
import { WorkspaceDeletions } from "@reins/core/deletion/WorkspaceDeletions"
import { Accounts } from "@reins/core/identity/Accounts"
import { ApiKeys } from "@reins/core/identity/ApiKeys"
import { Members } from "@reins/core/identity/Members"
import { Workspaces } from "@reins/core/identity/Workspaces"
import { Projects } from "@reins/core/projects/Projects"
import { Messages } from "@reins/core/sessions/Messages"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Database } from "@reins/core/store/Database"
import { Webhooks } from "@reins/core/webhooks/Webhooks"
import { SessionFiles } from "@reins/core/worktrees/SessionFiles"
import { Snapshots } from "@reins/core/worktrees/snapshots/Snapshots"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect, Redacted, Schedule } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { canary, makeRemote, temporaryDirectory, withAgent } from "../execution/Agent.js"
import { requireNoTrace, rowsHolding } from "./Traces.js"

/** The end of all words that a workspace is full of. None of them may be found after it. */
const mark = "wqcanary"

const finished = (principal: Principal, id: string) =>
  Effect.flatMap(WorkspaceDeletions, (deletions) =>
    Effect.zipRight(
      Effect.repeat(deletions.get(principal, id), {
        until: ({ state }) => state === "deleted",
        schedule: Schedule.spaced("20 millis")
      }),
      deletions.get(principal, id)
    )
  )

for (const { layer, name } of flowDatabases) {
  describe(`the deletion of a workspace on ${name}`, () => {
    it.scopedLive(
      "stops what runs in it, and leaves nothing of it in the database, on the disk, in the blobs and in a copy",
      () =>
        Effect.gen(function* () {
          const blobs = join(yield* temporaryDirectory, "blobs")
          yield* withAgent(
            "alpha_gateway",
            ({ dataDir, directory, eventsUntil, gateway, principal, runTurn, workspaceId: own }) =>
              Effect.gen(function* () {
                const sessions = yield* Sessions
                const workspaces = yield* Workspaces
                const { id: workspaceId } = yield* workspaces.create(principal, { name: `name${mark}` })
                const connection = yield* (yield* Connections).create(principal, workspaceId, {
                  kind: "alpha_gateway",
                  label: `label${mark}`,
                  credential: { base_url: gateway.url, api_key: canary }
                })
                yield* (yield* Connections).update(principal, connection.id, { preferred_model: "scripted-1" })
                yield* workspaces.update(principal, workspaceId, { budget: { max_tokens: 1_000_000 } })
                const key = yield* (yield* ApiKeys).create(principal, {
                  name: `key${mark}`,
                  workspace_id: workspaceId,
                  budget: { max_tokens: 1_000_000 }
                })
                yield* (yield* Webhooks).create(principal, workspaceId, {
                  url: `${gateway.url}/${mark}`,
                  description: `hook${mark}`
                })
                yield* (yield* Members).add(principal, workspaceId, { email: `${mark}@example.com`, role: "viewer" })
                const project = yield* (yield* Projects).create(principal, workspaceId, {
                  slug: `slug-${mark}`,
                  name: `project${mark}`,
                  spec: { setup: [{ name: "prepare", argv: ["true"] }] }
                })
                const remote = makeRemote(directory)
                const { id } = yield* sessions.create(principal, workspaceId, {
                  title: `title${mark}`,
                  labels: { team: `label${mark}` },
                  project_id: project.id,
                  repository: { url: remote.url }
                })
                const turn = yield* runTurn(
                  id,
                  script(
                    `prompt${mark}`,
                    { tool: "write", path: "new.txt", content: `written${mark}\n` },
                    { say: mark }
                  )
                )
                assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
                yield* (yield* SessionFiles).upload(principal, id, {
                  path: `path${mark}.txt`,
                  content: `upload${mark}\n`
                })
                yield* Effect.repeat((yield* Snapshots).isUnsealed(id), {
                  until: (isUnsealed) => !isUnsealed,
                  schedule: Schedule.spaced("20 millis")
                })
                yield* (yield* Messages).send(principal, id, {
                  content: script(`endless${mark}`, { tool: "bash", cmd: "sleep 600" })
                })
                yield* eventsUntil(id, ({ seq, type }) => type === "tool.started" && seq > 12)
                const other = yield* sessions.create(principal, own, { title: "It stays" })

                const deletions = yield* WorkspaceDeletions
                const receipt = yield* deletions.deleteWorkspace(principal, workspaceId, `name${mark}`)
                assert.deepInclude(receipt, { kind: "workspace", id: workspaceId, state: "deleting" })
                assert.strictEqual((yield* Effect.flip(workspaces.get(principal, workspaceId))).code, "not_found")
                assert.strictEqual((yield* Effect.flip(sessions.get(principal, id))).code, "not_found")
                assert.isUndefined(yield* (yield* ApiKeys).authenticate(Redacted.make(key.secret)))
                const done = yield* finished(principal, workspaceId)
                assert.deepStrictEqual({ ...done, state: "deleting", finished_at: null }, receipt)
                assert.deepStrictEqual(yield* deletions.deleteWorkspace(principal, workspaceId, ""), done)

                assert.deepStrictEqual(
                  readdirSync(blobs, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()),
                  []
                )
                assert.isFalse(existsSync(join(dataDir, "sessions", id)))
                for (const folder of ["setups", "object-stores"])
                  assert.deepStrictEqual(
                    readdirSync(join(dataDir, folder)).filter((entry) => !entry.endsWith(".lock")),
                    [],
                    folder
                  )
                yield* requireNoTrace(directory, dataDir, [mark, turn.id, connection.id, key.id])
                assert.deepStrictEqual(yield* rowsHolding(workspaceId), ["deletions", "jobs", "session_deletions"])
                assert.deepStrictEqual(yield* rowsHolding(project.id), [])
                assert.strictEqual((yield* sessions.get(principal, other.id)).title, "It stays")
              }),
            { blobs: { kind: "directory", path: blobs } },
            undefined,
            name === "SQLite" ? undefined : layer
          )
        }),
      240_000
    )

    suiteOver(services(layer), { excludeTestServices: true })((it) => {
      it.effect("asks for its name, and is for owners alone and for no personal workspace", () =>
        Effect.gen(function* () {
          const { principal, workspaceId: personal } = yield* ownerWithConnection
          const deletions = yield* WorkspaceDeletions
          const workspaces = yield* Workspaces
          const accounts = yield* Accounts
          const { id } = yield* workspaces.create(principal, { name: "Payments" })
          const refusal = (of: Principal, workspaceId: string, confirm = "Payments") =>
            Effect.map(Effect.flip(deletions.deleteWorkspace(of, workspaceId, confirm)), (error) =>
              error._tag === "ReinsError" ? error.code : error.message
            )
          assert.strictEqual(yield* refusal(principal, personal, "Personal"), "invalid_transition")
          assert.include(yield* refusal(principal, id, "payments"), "the name of the workspace")
          assert.strictEqual(yield* refusal({ ...principal, scopes: ["write"] }, id), "insufficient_scope")
          const [member, stranger] = yield* Effect.forEach(["member", "stranger"], (who) =>
            accounts.createVerified({ email: `${who}-${name}@example.com`, password: null })
          )
          const { run, sql } = yield* Database
          yield* run(
            sql`insert into workspace_members ${sql.insert({
              workspace_id: id,
              account_id: member?.id ?? "",
              role: "member",
              created_at: "2026-01-01T00:00:00.000Z"
            })}`
          )
          const as = (account: typeof member): Principal => ({
            ...principal,
            accountId: account?.id ?? principal.accountId
          })
          assert.strictEqual(yield* refusal(as(member), id), "forbidden")
          assert.strictEqual(yield* refusal(as(stranger), id), "not_found")
          yield* deletions.deleteWorkspace(principal, id, "Payments")
          assert.strictEqual((yield* Effect.flip(workspaces.get(as(member), id))).code, "not_found")
          assert.strictEqual((yield* Effect.flip(deletions.get(as(member), id))).code, "not_found")
          assert.strictEqual((yield* Effect.flip((yield* ProjectDeletions).get(principal, id))).code, "not_found")
          assert.strictEqual((yield* deletions.get(principal, id)).state, "deleting")
        })
      )
    })
  })
}
