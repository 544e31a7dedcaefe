import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Caller, change, codeOf, password, send, service } from "../Service.js"
import { newSession, openStream } from "../Sessions.js"

const origin = "https://app.example.com"
const allowed = "access-control-allow-origin"
const preflight = { "access-control-request-method": "POST", "access-control-request-headers": "authorization" }

/** The names of an answer's headers for pages of other origins. */
const corsHeaders = (headers: Headers) => [...headers.keys()].filter((name) => name.startsWith("access-control-"))

layer(service({ corsOrigins: [origin, "http://localhost:5173"] }), { excludeTestServices: true })(
  "a page of a listed origin",
  (it) => {
    it.effect("is told before it calls what it may send, without credentials of any kind", () =>
      Effect.gen(function* () {
        const { headers, status, text } = yield* send("OPTIONS", "/api/sessions/sess_1/messages", {
          headers: { origin, ...preflight }
        })
        assert.strictEqual(status, 204)
        assert.strictEqual(text, "")
        assert.strictEqual(headers.get(allowed), origin)
        assert.match(headers.get("access-control-allow-methods") ?? "", /\bPOST\b.*\bPATCH\b.*\bDELETE\b/)
        const names = (headers.get("access-control-allow-headers") ?? "").toLowerCase().split(", ")
        assert.includeMembers(names, ["authorization", "content-type", "idempotency-key", "if-match", "last-event-id"])
        assert.isNull(headers.get("access-control-allow-credentials"))
        assert.include(headers.get("vary"), "Origin")
      })
    )

    it.effect("may send every header that it asks for, as readers of streams and tracers do", () =>
      Effect.gen(function* () {
        const ask = (names: string, more = {}) =>
          send("OPTIONS", "/api/me", {
            headers: { origin, ...preflight, "access-control-request-headers": names, ...more }
          })
        for (const name of ["cache-control", "x-requested-with", "baggage", "authorization,x-datadog-trace-id"]) {
          const { headers } = yield* ask(name)
          assert.include(headers.get("access-control-allow-headers"), name)
          assert.include(headers.get("vary"), "Access-Control-Request-Headers")
          assert.isNull(headers.get("access-control-allow-private-network"))
        }
        const odd = yield* ask("a b; <script>")
        assert.include(odd.headers.get("access-control-allow-headers"), "Authorization")
        assert.notInclude(odd.headers.get("access-control-allow-headers"), "script")
        const inner = yield* ask("authorization", { "access-control-request-private-network": "true" })
        assert.strictEqual(inner.headers.get("access-control-allow-private-network"), "true")
      })
    )

    it.effect("reads answers and errors to calls with a key, with their headers", () =>
      Effect.gen(function* () {
        const { bearer } = yield* Caller
        const good = yield* send("GET", "/api/me", { headers: { origin, ...bearer } })
        const made = yield* change("POST", "/api/api-keys", { headers: { origin, ...bearer }, body: {} })
        const refused = yield* send("GET", "/api/me", { headers: { origin } })
        const lost = yield* send("GET", "/api/nowhere", { headers: { origin, ...bearer } })
        assert.deepStrictEqual(
          [good, made, refused, lost].map(({ status }) => status),
          [200, 422, 401, 404]
        )
        for (const { headers } of [good, made, refused, lost]) {
          assert.strictEqual(headers.get(allowed), origin)
          assert.strictEqual(headers.get("access-control-expose-headers"), "*")
          assert.isNull(headers.get("access-control-allow-credentials"))
        }
      })
    )

    it.effect("reads streams, whose answer depends on what is accepted as well", () =>
      Effect.gen(function* () {
        const { bearer } = yield* Caller
        const { events } = yield* newSession
        const stream = yield* openStream(events, { ...bearer, origin })
        assert.strictEqual(stream.headers.get(allowed), origin)
        assert.strictEqual(stream.headers.get("vary"), "Origin, Accept")
        stream.close()
      })
    )

    it.effect("neither logs in nor uses a login", () =>
      Effect.gen(function* () {
        const { email } = yield* Caller
        const body = { email, password }
        const abroad = yield* change("POST", "/api/auth/login", { headers: { origin }, body })
        assert.strictEqual(codeOf(abroad), "csrf_failed")
        assert.isNull(abroad.headers.get("set-cookie"))
        const home = yield* change("POST", "/api/auth/login", { body })
        const cookie = home.headers
          .getSetCookie()
          .map((each) => each.split(";")[0])
          .join("; ")
        const csrf = decodeURIComponent(/reins_csrf_\w+=([^;]+)/.exec(cookie)?.[1] ?? "")
        const headers = { origin, cookie, "x-csrf-token": csrf }
        const changed = yield* change("POST", "/api/api-keys", { headers, body: { name: "x", scopes: ["read"] } })
        assert.strictEqual(codeOf(changed), "csrf_failed")
        const read = yield* send("GET", "/api/me", { headers })
        assert.isNull(read.headers.get("access-control-allow-credentials"), "a browser shows the page no such answer")
      })
    )

    it.effect("is exactly the one that is listed, and calls the API alone", () =>
      Effect.gen(function* () {
        const { bearer } = yield* Caller
        for (const other of ["https://app.example.com.evil", "http://app.example.com", "https://example.com", "null"]) {
          const answer = yield* send("GET", "/api/me", { headers: { origin: other, ...bearer } })
          assert.deepStrictEqual(corsHeaders(answer.headers), [], other)
          assert.strictEqual(answer.headers.get("vary"), "Origin")
          const asked = yield* send("OPTIONS", "/api/me", { headers: { origin: other, ...preflight } })
          assert.deepStrictEqual(corsHeaders(asked.headers), [], other)
        }
        for (const path of ["/metrics", "/healthz", "/docs"]) {
          assert.deepStrictEqual(corsHeaders((yield* send("GET", path, { headers: { origin } })).headers), [], path)
        }
      })
    )
  }
)

layer(service(), { excludeTestServices: true })("without a list", (it) => {
  it.effect("no answer says anything of other origins", () =>
    Effect.gen(function* () {
      const { bearer } = yield* Caller
      const answers = [
        yield* send("GET", "/api/me", { headers: { origin, ...bearer } }),
        yield* send("OPTIONS", "/api/me", { headers: { origin, ...preflight } })
      ]
      for (const { headers } of answers) {
        assert.deepStrictEqual(corsHeaders(headers), [])
        assert.isNull(headers.get("vary"))
      }
    })
  )
})
