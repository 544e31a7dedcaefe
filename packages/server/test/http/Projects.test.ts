import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, layer } from "@effect/vitest"
import * as Core from "@reins/core/Core"
import { cacheWithSmallAgent } from "@reins/testing/harness/SmallAgent"
import { Effect, Layer, Schema } from "effect"
import { afterAll } from "vitest"
import { flowServices } from "../Databases.js"
import { Caller, change, codeOf, newCaller, send } from "../Service.js"
import { newSession, openStream } from "../Sessions.js"

const WithId = Schema.Struct({ id: Schema.String })
const Workspaces = Schema.Struct({ items: Schema.NonEmptyArray(WithId) })
const Invalid = Schema.Struct({ detail: Schema.Array(Schema.Struct({ loc: Schema.Array(Schema.Unknown) })) })

const value = "registry-canary-Zq8rT2vX"

/** The caller with a workspace that has a connection, and a way to make projects in it. */
const given = Effect.gen(function* () {
  const { bearer: headers } = yield* Caller
  yield* newSession
  const list = yield* Schema.decodeUnknown(Workspaces)((yield* send("GET", "/api/workspaces", { headers })).json)
  const workspace = `/api/workspaces/${list.items[0].id}`
  let count = 0
  const project = (spec: object) =>
    change("POST", `${workspace}/projects`, { headers, body: { slug: `p-${Date.now()}-${++count}`, name: "P", spec } })
  return { headers, workspace, project }
})

const placesOf = (json: unknown) =>
  Effect.map(Schema.decodeUnknown(Invalid)(json), ({ detail }) => detail.map(({ loc }) => loc.join(".")))

const directory = mkdtempSync(join(tmpdir(), "reins-projects-"))
afterAll(() => rmSync(directory, { recursive: true, force: true }))
const cacheDir = cacheWithSmallAgent(directory)

for (const { database, layer: service } of flowServices({ executors: ["local"], cacheDir })) {
  describe(`projects over HTTP on ${database}`, () => {
    layer(Layer.provideMerge(Core.worker, service), { excludeTestServices: true })("", (it) => {
      it.effect("a session is set up once, and the next one finds what that has left", () =>
        Effect.gen(function* () {
          const { headers, project, workspace } = yield* given
          const line = "echo token $TOKEN && mkdir node_modules && date +%s%N > node_modules/made"
          const { id } = yield* Schema.decodeUnknown(WithId)(
            (yield* project({
              setup: [{ name: "install", argv: ["sh", "-c", line] }],
              environment: [{ name: "TOKEN", secret: "registry", for: "setup" }]
            })).json
          )
          const put = yield* change("PUT", `/api/projects/${id}/secrets/registry`, { headers, body: { secret: value } })
          assert.strictEqual(put.status, 200, put.text)
          const setUp = Effect.gen(function* () {
            const made = yield* change("POST", `${workspace}/sessions`, { headers, body: { project_id: id } })
            const session = `/api/sessions/${(yield* Schema.decodeUnknown(WithId)(made.json)).id}`
            const stream = yield* openStream(`${session}/events?after=0`, headers)
            const activated = yield* change("POST", `${session}/executor/activations`, { headers, body: {} })
            assert.strictEqual(activated.status, 200)
            const blocks = yield* stream.until(
              ({ event }) => event === "workspace.restored" || event === "setup.failed"
            )
            stream.close()
            const file = yield* send("GET", `${session}/files/content?path=node_modules/made`, { headers })
            assert.strictEqual(file.status, 200, file.text)
            return { told: JSON.stringify(blocks), file: file.json }
          })
          const first = yield* setUp
          assert.include(first.told, "token [secret]")
          const second = yield* setUp
          assert.include(second.told, '\\"from_snapshot\\":true')
          assert.deepStrictEqual(second.file, first.file)
          for (const text of [put.text, first.told, second.told]) assert.notInclude(text, value)
        })
      )

      it.effect("a secret is given, replaced and destroyed, and never comes back", () =>
        Effect.gen(function* () {
          const { headers, project } = yield* given
          const { id } = yield* Schema.decodeUnknown(WithId)((yield* project({})).json)
          const at = `/api/projects/${id}/secrets`
          const put = (name: string, secret: string, as = headers) =>
            change("PUT", `${at}/${name}`, { headers: as, body: { secret } })
          assert.deepInclude((yield* put("b-token", value)).json, { name: "b-token", version: 1 })
          assert.deepInclude((yield* put("b-token", `${value}2`)).json, { name: "b-token", version: 2 })
          yield* put("a_token", value)
          const listed = yield* send("GET", at, { headers })
          assert.deepStrictEqual(
            [...listed.text.matchAll(/"name":"([^"]+)"/g)].map(([, name]) => name),
            ["a_token", "b-token"]
          )
          assert.notInclude(listed.text, value)
          assert.strictEqual((yield* change("DELETE", `${at}/a_token`, { headers })).status, 200)
          assert.strictEqual(codeOf(yield* change("DELETE", `${at}/a_token`, { headers })), "not_found")

          assert.deepStrictEqual(yield* placesOf((yield* put("no.dots", value)).json), ["path.name"])
          const long = yield* put("long", value.repeat(2000))
          assert.deepStrictEqual(yield* placesOf(long.json), ["body.secret"])
          assert.notInclude(long.text, value)
          const stranger = yield* newCaller()
          assert.strictEqual(codeOf(yield* put("b-token", value, stranger.bearer)), "not_found")
          assert.strictEqual((yield* send("GET", at, { headers: stranger.bearer })).status, 404)
        })
      )

      it.effect("a spec that would be set aside in silence is refused where it stands", () =>
        Effect.gen(function* () {
          const { project } = yield* given
          const refused = (spec: object) => Effect.flatMap(project(spec), ({ json }) => placesOf(json))
          const variable = (entry: object) => refused({ environment: [{ name: "NAME", ...entry }] })
          for (const name of [
            "PATH",
            "REINS_LEASE",
            "LD_PRELOAD",
            "NODE_OPTIONS",
            "https_proxy",
            "BASH_ENV",
            "1A",
            "A-B",
            ""
          ])
            assert.deepStrictEqual(yield* variable({ name, value: "x" }), ["body.spec.environment.0.name"], name)
          assert.deepStrictEqual(yield* variable({}), ["body.spec.environment.0"])
          assert.deepStrictEqual(yield* variable({ value: "x", secret: "y" }), ["body.spec.environment.0"])
          assert.deepStrictEqual(yield* variable({ value: "a\0b" }), ["body.spec.environment.0.value"])
          const twice = [
            { name: "A", value: "1" },
            { name: "A", value: "2", for: "agent" }
          ]
          assert.deepStrictEqual(yield* refused({ environment: twice }), ["body.spec.environment"])
          const parted = [
            { name: "A", value: "1", for: "setup" },
            { name: "A", value: "2", for: "agent" }
          ]
          assert.strictEqual((yield* project({ environment: parted })).status, 201)
          assert.deepStrictEqual(yield* refused({ setup: [{ name: "a", argv: [] }] }), ["body.spec.setup.0.argv"])
          assert.deepStrictEqual(yield* refused({ executor: { backend: "local", limits: { memory_bytes: 1 } } }), [
            "body.spec.executor.limits.memory_bytes"
          ])
        })
      )

      it.effect("a session is refused where its executor does not enforce a limit, and takes the time of turns", () =>
        Effect.gen(function* () {
          const { headers, project, workspace } = yield* given
          const begin = Effect.fnUntraced(function* (limits: object) {
            const { id } = yield* Schema.decodeUnknown(WithId)(
              (yield* project({ executor: { backend: "local", limits } })).json
            )
            return yield* change("POST", `${workspace}/sessions`, { headers, body: { project_id: id } })
          })
          const refused = yield* begin({ memory_bytes: 2 ** 30, disk_bytes: 2 ** 30 })
          assert.strictEqual(codeOf(refused), "executor_unavailable")
          assert.include(refused.text, "cannot enforce memory_bytes and disk_bytes")
          const { id } = yield* Schema.decodeUnknown(WithId)((yield* begin({ turn_seconds: 5 })).json)
          const executor = yield* send("GET", `/api/sessions/${id}/executor`, { headers })
          assert.deepInclude(executor.json, { limits: { turn_seconds: 5 } })
        })
      )
    })
  })
}
