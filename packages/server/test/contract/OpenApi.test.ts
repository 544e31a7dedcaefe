import { readFileSync, writeFileSync } from "node:fs"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect } from "effect"
import { send, service } from "../Service.js"
import { builtInDocument } from "./BuiltIn.js"

const text = `${JSON.stringify(builtInDocument, null, 2)}\n`

describe("the OpenAPI document", () => {
  it("is the file that is kept beside the server: else run `node scripts/openapi.mjs`", () => {
    const file = new URL("../../openapi.json", import.meta.url)
    if (process.env["REINS_WRITE_OPENAPI"] === "1") writeFileSync(file, text)
    assert.isTrue(readFileSync(file, "utf8") === text)
  })
})

for (const [publicUrl, path, cookie] of [
  ["https://reins.example.com", "/", /^__Host-reins_session_[0-9a-f]{8}$/],
  ["https://example.com/reins", "/reins", /^__Secure-reins_session_[0-9a-f]{8}$/],
  ["https://example.com/reins/", "/reins", /^__Secure-reins_session_[0-9a-f]{8}$/],
  ["http://127.0.0.1:8080/tools/reins//", "/tools/reins", /^reins_session_[0-9a-f]{8}$/]
] as const)
  layer(service({ publicUrl: new URL(publicUrl) }), { excludeTestServices: true })(`at ${publicUrl}`, (it) => {
    it.effect("the document names the path and the login cookie of the service, and no host", () =>
      Effect.gen(function* () {
        const { json } = yield* send("GET", "/openapi.json")
        assert.nestedPropertyVal(json, "servers[0].url", path)
        const { components } = json as { components: { securitySchemes: { cookie: { name: string } } } }
        assert.match(components.securitySchemes.cookie.name, cookie)
      })
    )
  })

layer(service(), { excludeTestServices: true })("the page of the document", (it) => {
  it.effect("loads nothing from anywhere else", () =>
    Effect.gen(function* () {
      const { headers, text: page } = yield* send("GET", "/docs")
      const markup = page.replaceAll(/<script[^>]*>[\s\S]*?<\/script>|<style[^>]*>[\s\S]*?<\/style>/g, "")
      const scripts = [...page.matchAll(/<script[^>]+src="([^"]*)"/gi)].map(([, address = ""]) => address)
      assert.isNotEmpty(scripts)
      for (const address of scripts) {
        assert.match(address, /^docs\/[0-9a-f]+\.js$/)
        assert.strictEqual((yield* send("GET", `/${address}`)).status, 200)
      }
      assert.notMatch(
        markup,
        /<(?:link|img|iframe|object|embed|source|video|audio|base)\b[^>]*(?:href|src|data)\s*=\s*["']?(?!data:|#)/i
      )
      assert.notMatch(page, /@import\s|url\(\s*["']?(?:https?:)?\/\//i)
      const policy = headers.get("content-security-policy") ?? ""
      for (const directive of ["default-src 'none'", "connect-src 'self'", "img-src 'self' data:"])
        assert.include(policy, directive)
      assert.notMatch(policy, /https?:|\*|'unsafe-eval'|script-src[^;]*unsafe-inline/)
    })
  )

  it.effect("and the document come compressed, and not again to those who have them", () =>
    Effect.gen(function* () {
      const { text: page } = yield* send("GET", "/docs")
      const script = `/${/src="(docs\/[^"]+)"/.exec(page)?.[1]}`
      for (const path of ["/docs", "/openapi.json", script]) {
        const zipped = yield* send("GET", path, { headers: { "accept-encoding": "gzip" } })
        assert.strictEqual(zipped.headers.get("content-encoding"), "gzip", path)
        assert.strictEqual(zipped.headers.get("vary"), "accept-encoding")
        assert.strictEqual(zipped.headers.get("x-content-type-options"), "nosniff")
        assert.strictEqual(zipped.headers.get("referrer-policy"), "no-referrer")
        const plain = yield* send("GET", path, { headers: { "accept-encoding": "gzip;q=0, identity" } })
        assert.isNull(plain.headers.get("content-encoding"))
        assert.isTrue(plain.text === zipped.text)
        const etag = zipped.headers.get("etag") ?? ""
        const known = yield* send("GET", path, { headers: { "if-none-match": etag } })
        assert.deepStrictEqual([known.status, known.text], [304, ""])
        const immutable = zipped.headers.get("cache-control")?.includes("immutable") === true
        assert.strictEqual(immutable, path === script)
      }
      assert.strictEqual((yield* send("GET", "/docs/0123456789abcdef.js")).status, 404)
    })
  )
})
