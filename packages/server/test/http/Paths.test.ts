import { assert, layer } from "@effect/vitest"
import { Server } from "@reins/server/Server"
import { askRaw, otherSpellings, statusOf } from "@reins/testing/process/Spellings"
import { Effect } from "effect"
import { service } from "../Service.js"

layer(service({ metrics: true }), { excludeTestServices: true })("a path", (it) => {
  const port = Effect.map(Server, ({ url }) => Number(new URL(url).port))

  it.effect("has one spelling, so that a rule of a proxy cannot be passed by", () =>
    Effect.gen(function* () {
      const at = yield* port
      assert.strictEqual(statusOf(yield* askRaw(at, "/metrics")), 200)
      for (const path of ["/metrics", "/healthz", "/readyz", "/openapi.json", "/docs", "/api/me"])
        for (const spelling of otherSpellings(path)) {
          const answer = yield* askRaw(at, spelling)
          assert.include([400, 404], statusOf(answer), spelling)
          assert.notInclude(answer, "reins_jobs", spelling)
        }
      for (const spelling of otherSpellings("/api/auth/login"))
        assert.include([400, 404], statusOf(yield* askRaw(at, spelling, "POST")), spelling)
    })
  )

  it.effect("may have encoded parameters, a query and the address before it", () =>
    Effect.gen(function* () {
      const at = yield* port
      for (const path of ["/api/sessions/sess%5F1", "/api/sessions/sess_1?x=;//", "http://127.0.0.1/api/sessions/s"])
        assert.strictEqual(statusOf(yield* askRaw(at, path)), 401, path)
      assert.strictEqual(statusOf(yield* askRaw(at, "http://127.0.0.1:1/metrics")), 200)
      assert.strictEqual(statusOf(yield* askRaw(at, "/api/sessions/sess_1;x")), 404)
    })
  )

  it.effect("of an operation says that it has no slash at its end", () =>
    Effect.gen(function* () {
      assert.include(yield* askRaw(yield* port, "/api/me/"), "Leave out the slash")
      assert.notInclude(yield* askRaw(yield* port, "/api/nothing/"), "Leave out the slash")
    })
  )
})
