import { assert, describe, it } from "@effect/vitest"
import { TurnId, WorkspaceId } from "@reins/base/domain/Ids"
import { Artifacts } from "@reins/core/artifacts/Artifacts"
import { Effect, Layer } from "effect"
import { Server } from "../../src/Server.js"
import { change, send, service } from "../Service.js"
import { newTenant } from "./Tenant.js"
import { allowGateway, Gateway, newSession, type Tenant, textAt } from "./TenantParts.js"

const world = Layer.provideMerge(service(allowGateway), Gateway.layer)

const png = Buffer.from("\x89PNG\r\n\x1a\n", "latin1")
const page = "<html><script>alert(1)</script></html>"

/** Files that an agent has published, each with its headers when a browser asks for it. */
const published = (files: Readonly<Record<string, Buffer>>) =>
  Effect.gen(function* () {
    const tenant: Tenant = yield* newTenant
    const artifacts = yield* Artifacts
    const { id: sessionId, session } = yield* newSession(tenant, { message: "Do it." })
    const agent = {
      accountId: tenant.person.account.id,
      scopes: ["read", "write"] as const,
      workspaceId: WorkspaceId.make(tenant.ids["workspace_id"] ?? ""),
      via: {
        kind: "turn" as const,
        sessionId,
        turnId: TurnId.make(textAt(session, "turn_id")),
        providerId: "alpha",
        keyId: null
      }
    }
    for (const [path, bytes] of Object.entries(files))
      yield* artifacts.publish(agent, { title: path, path, bytes, key: path })
    const { headers } = { headers: tenant.person.bearer }
    const list = yield* send("GET", `/api/sessions/${sessionId}/artifacts`, { headers })
    return { headers, items: (list.json as { items: ReadonlyArray<{ id: string; path: string }> }).items }
  })

describe("the content of artifacts", () => {
  it.scopedLive("is shown as an image that runs nothing, or saved, and is never sniffed or run", () =>
    Effect.gen(function* () {
      const { headers, items } = yield* published({
        "a.png": png,
        "page.html": Buffer.from(page),
        "drawing.svg": Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`),
        "not really.png": Buffer.from(page),
        'quo"te\r\nx-evil: 1;é.bin': Buffer.from([0, 1, 2]),
        "paper.pdf": Buffer.from("%PDF-1.7")
      })
      const { url } = yield* Server
      const found: Record<string, unknown> = {}
      for (const { id, path } of items) {
        const response = yield* Effect.promise(() => fetch(`${url}/api/artifacts/${id}/content`, { headers }))
        yield* Effect.promise(() => response.arrayBuffer())
        const get = (name: string) => response.headers.get(name)
        assert.strictEqual(get("x-content-type-options"), "nosniff")
        assert.strictEqual(get("content-security-policy"), "sandbox; default-src 'none'; frame-ancestors 'none'")
        assert.isNull(get("x-evil"))
        found[path] = [get("content-type"), get("content-disposition")]
      }
      const named = (name: string, whole = name) => `filename="${name}"; filename*=UTF-8''${whole}`
      const text = "text/plain; charset=utf-8"
      assert.deepStrictEqual(found, {
        "a.png": ["image/png", `inline; ${named("a.png")}`],
        "page.html": [text, `attachment; ${named("page.html")}`],
        "drawing.svg": [text, `attachment; ${named("drawing.svg")}`],
        "not really.png": [text, `attachment; ${named("not_really.png", "not%20really.png")}`],
        'quo"te\r\nx-evil: 1;é.bin': [
          "application/octet-stream",
          `attachment; ${named("quo_te__x-evil__1__.bin", "quo%22te%0D%0Ax-evil%3A%201%3B%C3%A9.bin")}`
        ],
        "paper.pdf": ["application/pdf", `attachment; ${named("paper.pdf")}`]
      })
    }).pipe(Effect.provide(world))
  )

  it.scopedLive("is read in parts, and not sent to a client that has it", () =>
    Effect.gen(function* () {
      const bytes = Buffer.from(Array.from({ length: 1000 }, (_, index) => index % 256))
      const { headers, items } = yield* published({ "data.bin": bytes })
      const { url } = yield* Server
      const address = `${url}/api/artifacts/${items[0]?.id}/content`
      const ask = (more: Record<string, string> = {}, method = "GET") =>
        Effect.promise(async () => {
          const response = await fetch(address, { method, headers: { ...headers, ...more } })
          const body = Buffer.from(await response.arrayBuffer())
          return { response, body, range: response.headers.get("content-range") }
        })
      const whole = yield* ask()
      const tag = whole.response.headers.get("etag") ?? ""
      assert.match(tag, /^"[0-9a-f]{64}"$/)
      assert.strictEqual(whole.response.headers.get("accept-ranges"), "bytes")
      for (const [range, first, end] of [
        ["bytes=0-9", 0, 10],
        ["bytes=990-", 990, 1000],
        ["bytes=-5", 995, 1000],
        ["bytes=-5000", 0, 1000],
        ["bytes=500-99999", 500, 1000]
      ] as const) {
        const part = yield* ask({ range, "if-range": tag })
        assert.strictEqual(part.response.status, 206, range)
        assert.strictEqual(part.range, `bytes ${first}-${end - 1}/1000`)
        assert.isTrue(part.body.equals(bytes.subarray(first, end)))
        assert.strictEqual(part.response.headers.get("x-content-type-options"), "nosniff")
      }
      for (const range of ["bytes=1000-", "bytes=-0", "bytes=5000-6000"]) {
        const none = yield* ask({ range })
        assert.deepStrictEqual([none.response.status, none.range, none.body.length], [416, "bytes */1000", 0])
      }
      for (const range of ["bytes=5-1", "bytes=0-1,5-6", "lines=1-2", "bytes=", "bytes=a-b", "bytes=--1"])
        assert.strictEqual((yield* ask({ range })).response.status, 200, range)
      assert.strictEqual((yield* ask({ range: "bytes=0-9", "if-range": '"other"' })).response.status, 200)
      for (const known of [tag, `W/${tag}`, `"other", ${tag}`, "*"])
        assert.strictEqual((yield* ask({ "if-none-match": known, range: "bytes=0-1" })).response.status, 304, known)
      assert.strictEqual((yield* ask({ "if-none-match": '"other"' })).response.status, 200)
      const head = yield* ask({}, "HEAD")
      assert.deepStrictEqual(
        [head.response.status, head.response.headers.get("content-length"), head.body.length],
        [200, "1000", 0]
      )
    }).pipe(Effect.provide(world))
  )

  it.scopedLive("goes with its artifact, and nobody of another workspace reads it", () =>
    Effect.gen(function* () {
      const { headers, items } = yield* published({ "a.png": png })
      const path = `/api/artifacts/${items[0]?.id}`
      const other = yield* newTenant
      for (const each of [path, `${path}/content`])
        assert.strictEqual((yield* send("GET", each, { headers: other.person.bearer })).status, 404)
      assert.strictEqual((yield* change("DELETE", path, { headers: other.person.bearer })).status, 404)
      assert.strictEqual((yield* send("GET", `${path}/content`, { headers })).status, 200)
      assert.strictEqual((yield* change("DELETE", path, { headers })).status, 200)
      assert.strictEqual((yield* send("GET", `${path}/content`, { headers })).status, 404)
    }).pipe(Effect.provide(world))
  )
})
