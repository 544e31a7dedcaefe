import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { flowServices } from "../Databases.js"
import { change, codeOf, send } from "../Service.js"
import { newTenant } from "./Tenant.js"
import { allowGateway, Gateway, type Tenant, textAt } from "./TenantParts.js"

/** An expectation that clients have of a body and the service does not meet is told, and not passed over in silence. */
for (const { database, layer: service } of flowServices(allowGateway)) {
  layer(Layer.provideMerge(service, Gateway.layer), { excludeTestServices: true })(
    `what a request may expect, on ${database}`,
    (it) => {
      const given = Effect.map(newTenant, (tenant: Tenant) => {
        const { ids, person } = tenant
        const post = (path: string, body: unknown) => change("POST", path, { headers: person.bearer, body })
        const read = (path: string) => send("GET", path, { headers: person.bearer })
        return { ...tenant, post, read, sessions: `/api/workspaces/${ids["workspace_id"]}/sessions` }
      })

      it.effect("setup steps and executor limits that nobody could honour are refused with 422", () =>
        Effect.gen(function* () {
          const { ids, post, sessions } = yield* given
          const versions = `/api/projects/${ids["project_id"]}/versions`
          const limited = { backend: "local", limits: { memory_bytes: 1 } }
          const refused: ReadonlyArray<readonly [string, unknown, ReadonlyArray<string | number>, RegExp]> = [
            [
              versions,
              { spec: { setup: [{ name: "x", argv: [] }] } },
              ["body", "spec", "setup", 0, "argv"],
              /at least 1 item/
            ],
            [
              versions,
              { spec: { executor: limited } },
              ["body", "spec", "executor", "limits", "memory_bytes"],
              /16777216/
            ],
            [sessions, { executor: limited }, ["body", "executor", "limits", "memory_bytes"], /16777216/]
          ]
          for (const [path, body, loc, message] of refused) {
            const reply = yield* post(path, body)
            assert.strictEqual(reply.status, 422, reply.text)
            assert.deepNestedInclude(reply.json, { "detail[0].loc": loc })
            assert.match(textAt(reply.json, "detail.0.msg"), message)
          }
          const absent = { spec: { setup: null, executor: { backend: "local", limits: null } } }
          const published = yield* post(versions, absent)
          assert.strictEqual(published.status, 201, published.text)
          const same = yield* post(versions, { spec: { executor: { backend: "local" } } })
          assert.strictEqual(textAt(same.json, "id"), textAt(published.json, "id"))
        })
      )

      it.effect("a first message is taken as text, as blocks, or as the content of an object", () =>
        Effect.gen(function* () {
          const { post, read, sessions } = yield* given
          const block = { type: "text", text: "Begin." }
          for (const message of ["Begin.", [block], { content: "Begin." }, { content: [block], routing: "queue" }]) {
            const made = yield* post(sessions, { message })
            assert.strictEqual(made.status, 201, made.text)
            const { json } = yield* read(`/api/sessions/${textAt(made.json, "id")}/messages`)
            assert.deepNestedInclude(json, {
              "items[0].content": [block],
              "items[0].turn_id": textAt(made.json, "turn_id")
            })
          }
          const noted = yield* post(sessions, { message: { content: "For readers.", routing: "note" } })
          assert.notProperty(noted.json, "turn_id")
          const upload = [{ type: "file", upload_id: "upl_01jz0000000000000000000000" }]
          const wrong: ReadonlyArray<readonly [unknown, ReadonlyArray<string | number>]> = [
            [{ content: "" }, ["body", "message", "content"]],
            [{ content: upload }, ["body", "message", "content", 0, "upload_id"]],
            [upload, ["body", "message", 0, "upload_id"]]
          ]
          for (const [message, loc] of wrong) {
            const reply = yield* post(sessions, { message })
            assert.strictEqual(reply.status, 422, reply.text)
            assert.deepNestedPropertyVal(reply.json, "detail[0].loc", loc)
          }
        })
      )

      it.effect("an expected head says where merging is, and no merge request is opened", () =>
        Effect.gen(function* () {
          const { ids, post, read } = yield* given
          const path = `/api/deliveries/${ids["delivery_id"]}/merge-requests`
          const { text: before } = yield* read(path)
          for (const field of ["expected_head", "expected_head_sha"]) {
            const reply = yield* post(path, { base_branch: "main", [field]: "a".repeat(40) })
            assert.strictEqual(reply.status, 422)
            assert.deepNestedPropertyVal(reply.json, "detail[0].loc", ["body", field])
            assert.include(textAt(reply.json, "detail.0.msg"), "POST /api/merge-requests/{merge_request_id}/merges")
          }
          assert.strictEqual((yield* read(path)).text, before)
        })
      )

      it.effect("a message without a model is 409 model_required, and what can be done says so before", () =>
        Effect.gen(function* () {
          const { ids, person, post, read, sessions } = yield* given
          const connection = `/api/connections/${ids["connection_id"]}`
          yield* change("PATCH", connection, { headers: person.bearer, body: { preferred_model: null } })
          const refused = yield* post(sessions, { message: "Begin." })
          assert.deepStrictEqual([refused.status, codeOf(refused)], [409, "model_required"])
          const made = yield* post(sessions, {})
          const id = textAt(made.json, "id")
          const { json } = yield* read(`/api/sessions/${id}`)
          assert.notInclude(JSON.stringify(json), "send_message")
          const sent = yield* post(`/api/sessions/${id}/messages`, { content: "Go on." })
          assert.deepStrictEqual([sent.status, codeOf(sent)], [409, "model_required"])
        })
      )

      it.effect("the models of one connection are asked for by its id", () =>
        Effect.gen(function* () {
          const { ids, read } = yield* given
          const listed = yield* read(`/api/models?connection_id=${ids["connection_id"]}`)
          assert.deepNestedInclude(listed.json, {
            "items[0].id": "thinker",
            "items[0].connection_id": ids["connection_id"]
          })
          const nobodys = yield* read("/api/models?connection_id=con_01jz0000000000000000000000")
          assert.deepStrictEqual([nobodys.status, codeOf(nobodys)], [404, "not_found"])
        })
      )
    }
  )
}
