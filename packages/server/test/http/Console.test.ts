import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { send, service } from "../Service.js"

describe("the console", () => {
  layer(service(), { excludeTestServices: true })((it) => {
    it.effect("is where `/` leads, and is the same page at every path of it, whose files are found from there", () =>
      Effect.gen(function* () {
        assert.strictEqual((yield* send("GET", "/")).text, (yield* send("GET", "/ui")).text)
        for (const [path, base] of [
          ["/ui", "ui/"],
          ["/ui/keys", "./"],
          ["/ui/sessions/sess_1", "../"],
          ["/ui/sessions/sess_1/events", "../../"],
          ["/ui/sessions/sess_1/review/cs_1", "../../../"]
        ] as const) {
          const page = yield* send("GET", path)
          assert.strictEqual(page.status, 200, path)
          assert.include(page.text, `<base href="${base}">`)
          assert.match(page.headers.get("content-security-policy") ?? "", /^default-src 'none'; script-src 'self';/)
          assert.strictEqual(page.headers.get("cache-control"), "no-cache")
        }
        const [slash, plain] = [yield* send("GET", "/ui/sessions/sess_1/"), yield* send("GET", "/ui/sessions/sess_1")]
        assert.strictEqual(slash.text, plain.text)
        assert.strictEqual((yield* send("GET", "/ui/a/b/c/d/e")).status, 404)
      })
    )

    it.effect("gives its files out for good, and none that is not its own", () =>
      Effect.gen(function* () {
        const { text } = yield* send("GET", "/ui")
        const files = [...text.matchAll(/(?:src|href)="\.\/(assets\/[^"]+)"/g)].map(([, file]) => `/ui/${file}`)
        assert.isAtLeast(files.length, 3)
        for (const file of files) {
          const { headers, status } = yield* send("GET", file)
          assert.strictEqual(status, 200, file)
          assert.strictEqual(headers.get("cache-control"), "public, max-age=31536000, immutable")
          assert.strictEqual(headers.get("content-encoding"), "gzip")
          assert.match(headers.get("content-security-policy") ?? "", /connect-src 'self'/)
        }
        for (const file of ["nothing.js", "..%2Findex.html"])
          assert.strictEqual((yield* send("GET", `/ui/assets/${file}`)).status, 404)
      })
    )
  })

  layer(service({ console: false }), { excludeTestServices: true })((it) => {
    it.effect("is not there when it is off", () =>
      Effect.gen(function* () {
        for (const path of ["/", "/ui", "/ui/keys"]) assert.strictEqual((yield* send("GET", path)).status, 404)
      })
    )
  })
})
