import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { flowServices } from "../Databases.js"
import { change, codeOf, send } from "../Service.js"
import { newTenant } from "./Tenant.js"
import { allowGateway, Gateway, type Tenant, textAt } from "./TenantParts.js"

const fresh = { spent_tokens: 0, spent_cost_usd: null, estimated_calls: 0, exhausted: false }

for (const { database, layer: service } of flowServices(allowGateway)) {
  layer(Layer.provideMerge(service, Gateway.layer), { excludeTestServices: true })(
    `budgets as requests set them, on ${database}`,
    (it) => {
      const given = Effect.map(newTenant, (tenant: Tenant) => {
        const headers = tenant.person.bearer
        const workspace = `/api/workspaces/${tenant.ids["workspace_id"]}`
        return {
          ...tenant,
          workspace,
          read: (path: string) => send("GET", path, { headers }),
          call: (method: "POST" | "PATCH", path: string, body: unknown) => change(method, path, { headers, body })
        }
      })

      it.effect("sessions, turns, keys and workspaces are made with a budget, show it, change it and lose it", () =>
        Effect.gen(function* () {
          const { call, read, workspace } = yield* given
          const message = { content: "Begin.", budget: { max_tokens: 500 } }
          const session = yield* call("POST", `${workspace}/sessions`, { budget: { max_tokens: 2000 }, message })
          assert.deepNestedInclude(session.json, { "budget.max_tokens": 2000, "budget.remaining_tokens": 2000 })
          const key = yield* call("POST", "/api/api-keys", { name: "robot", budget: { max_cost_usd: 0.5 } })
          assert.deepNestedInclude(key.json, { "budget.max_cost_usd": 0.5, "budget.max_tokens": null })
          const paths = [
            `/api/sessions/${textAt(session.json, "id")}`,
            `/api/turns/${textAt(session.json, "turn_id")}`,
            `/api/api-keys/${textAt(key.json, "id")}`,
            workspace
          ]
          for (const path of paths) {
            const changed = yield* call("PATCH", path, { budget: { max_tokens: 3000 } })
            assert.strictEqual(changed.status, 200, changed.text)
            for (const [name, value] of Object.entries({
              ...fresh,
              max_tokens: 3000,
              max_cost_usd: null,
              remaining_tokens: 3000
            }))
              assert.deepNestedPropertyVal(changed.json, `budget.${name}`, value)
            const untouched = yield* call("PATCH", path, {})
            assert.deepNestedPropertyVal(untouched.json, "budget.max_tokens", 3000)
            if (!path.includes("api-keys"))
              assert.deepNestedPropertyVal((yield* read(path)).json, "budget.max_tokens", 3000)
            const removed = yield* call("PATCH", path, { budget: null })
            assert.deepNestedPropertyVal(removed.json, "budget", null)
            for (const budget of [{}, { max_tokens: 0 }, { max_tokens: 1.5 }, { max_cost_usd: 0 }, "much"]) {
              const refused = yield* call("PATCH", path, { budget })
              assert.strictEqual(refused.status, 422, refused.text)
              assert.include(JSON.stringify(refused.json), '["body","budget"')
            }
          }
        })
      )

      it.effect("one in dollars is refused where the connection has no price, with what to do", () =>
        Effect.gen(function* () {
          const { call, ids, workspace } = yield* given
          const budget = { max_cost_usd: 1 }
          const refused = yield* call("POST", `${workspace}/sessions`, { budget })
          assert.deepStrictEqual([refused.status, codeOf(refused)], [409, "budget_unenforceable"])
          assert.deepNestedPropertyVal(refused.json, "error.details.why", "no_price")
          assert.include(textAt(refused.json, "error.message"), "PATCH /api/connections/{connection_id}")
          const priced = yield* call("PATCH", `/api/connections/${ids["connection_id"]}`, {
            prices: { "*": { input: 1, output: 2 } }
          })
          assert.strictEqual(priced.status, 200, priced.text)
          assert.strictEqual((yield* call("POST", `${workspace}/sessions`, { budget })).status, 201)
        })
      )

      it.effect("a key with a budget makes no keys and changes no budget above its sessions", () =>
        Effect.gen(function* () {
          const { call, ids, workspace } = yield* given
          const made = yield* call("POST", "/api/api-keys", { name: "robot", budget: { max_tokens: 10 } })
          const headers = { authorization: `Bearer ${textAt(made.json, "secret")}` }
          const key = `/api/api-keys/${textAt(made.json, "id")}`
          const budget = { max_tokens: 1_000_000 }
          for (const [method, path, body] of [
            ["POST", "/api/api-keys", { name: "another" }],
            ["PATCH", key, { budget }],
            ["PATCH", workspace, { budget }]
          ] as const) {
            const reply = yield* change(method, path, { headers, body })
            assert.deepStrictEqual([reply.status, codeOf(reply)], [403, "forbidden"], reply.text)
          }
          const session = yield* change("PATCH", `/api/sessions/${ids["session_id"]}`, { headers, body: { budget } })
          assert.strictEqual(session.status, 200, session.text)
        })
      )

      it.effect("the usage of a workspace comes in groups", () =>
        Effect.gen(function* () {
          const { read, workspace } = yield* given
          for (const by of ["day", "session", "model", "api_key"]) {
            const reply = yield* read(`${workspace}/usage?group_by=${by}&from=2026-01-01&limit=10`)
            assert.strictEqual(reply.status, 200, reply.text)
            assert.deepNestedPropertyVal(reply.json, "group_by", by)
          }
          assert.strictEqual((yield* read(`${workspace}/usage?group_by=colour`)).status, 422)
          const wrong = yield* read(`${workspace}/usage?group_by=day&cursor=nonsense`)
          assert.deepStrictEqual([wrong.status, codeOf(wrong)], [400, "invalid_cursor"])
        })
      )
    }
  )
}
