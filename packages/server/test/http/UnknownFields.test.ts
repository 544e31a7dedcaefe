import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { textAt } from "../contract/TenantParts.js"
import { Caller, change, newKey, send, service } from "../Service.js"

const header = "reins-unknown-fields"

layer(service(), { excludeTestServices: true })("what a request holds and no operation knows is named", (it) => {
  const workspace = Effect.gen(function* () {
    const { bearer } = yield* Caller
    const { json } = yield* send("GET", "/api/workspaces", { headers: bearer })
    const path = `/api/workspaces/${textAt(json, "items.0.id")}`
    const credential = { base_url: "https://gateway.example/v1", api_key: "k" }
    yield* change("POST", `${path}/connections`, {
      headers: bearer,
      body: { kind: "alpha_gateway", label: "gateway", credential }
    })
    return { bearer, path }
  })

  it.effect("in a body, at any depth, in the answer and in its repetition", () =>
    Effect.gen(function* () {
      const { bearer, path } = yield* workspace
      const body = { mesage: "Begin.", harness: { provider_id: "alpha", modle: "m" }, labels: { any: "name" } }
      const headers = { ...bearer, "idempotency-key": newKey() }
      const first = yield* send("POST", `${path}/sessions`, { headers, body })
      assert.strictEqual(first.status, 201)
      assert.strictEqual(first.headers.get(header), "body.mesage, body.harness.modle")
      const second = yield* send("POST", `${path}/sessions`, { headers, body })
      assert.strictEqual(second.headers.get("idempotency-replayed"), "true")
      assert.strictEqual(second.headers.get(header), "body.mesage, body.harness.modle")
    })
  )

  it.effect("in the blocks of a message and in a credential", () =>
    Effect.gen(function* () {
      const { bearer, path } = yield* workspace
      const { headers } = yield* change("POST", `${path}/connections`, {
        headers: bearer,
        body: { kind: "gitea", label: "forge", credential: { token: "t", base_ulr: "https://gitea.example" } }
      })
      assert.strictEqual(headers.get(header), "body.credential.base_ulr")
      const session = yield* change("POST", `${path}/sessions`, { headers: bearer, body: {} })
      const sent = yield* change("POST", `/api/sessions/${textAt(session.json, "id")}/messages`, {
        headers: bearer,
        body: { content: [{ type: "text", text: "Do it.", txet: "" }], routing: "note" }
      })
      assert.strictEqual(sent.headers.get(header), "body.content.0.txet")
    })
  )

  it.effect("in a query, also of an operation that takes none", () =>
    Effect.gen(function* () {
      const { bearer } = yield* Caller
      const list = yield* send("GET", "/api/workspaces?limt=3&limit=3", { headers: bearer })
      assert.strictEqual(list.headers.get(header), "query.limt")
      assert.strictEqual((yield* send("GET", "/api/me?x=1", { headers: bearer })).headers.get(header), "query.x")
    })
  )

  it.effect("in the answer to a request that is refused", () =>
    Effect.gen(function* () {
      const { bearer } = yield* Caller
      const reply = yield* change("POST", "/api/api-keys", { headers: bearer, body: { nmae: "laptop" } })
      assert.strictEqual(reply.status, 422)
      assert.strictEqual(reply.headers.get(header), "body.nmae")
    })
  )

  it.effect("as far as a header can hold it", () =>
    Effect.gen(function* () {
      const { bearer } = yield* Caller
      const odd = { "a b\r\nx: y": 1, "\ud800": 2, ["x".repeat(5000)]: 3 }
      const many = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`f${index}`, index]))
      const reply = yield* change("POST", "/api/api-keys", {
        headers: bearer,
        body: { name: "laptop", scopes: ["read"], ...odd, ...many }
      })
      assert.strictEqual(reply.status, 201)
      const names = (reply.headers.get(header) ?? "").split(", ")
      assert.strictEqual(names.length, 10)
      assert.deepStrictEqual(names.slice(0, 2), ["body.a%20b%0D%0Ax%3A%20y", "body.%EF%BF%BD"])
      assert.isAtMost(names[2]?.length ?? 0, 200)
    })
  )

  it.effect("and nothing where everything is known", () =>
    Effect.gen(function* () {
      const { bearer, path } = yield* workspace
      const made = yield* change("POST", `${path}/sessions`, { headers: bearer, body: { labels: { a: "b" } } })
      assert.strictEqual(made.status, 201)
      assert.isNull(made.headers.get(header))
      assert.isNull((yield* send("GET", `${path}/sessions?limit=1`, { headers: bearer })).headers.get(header))
    })
  )
})
