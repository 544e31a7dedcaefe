import { request } from "node:http"
import { assert, describe, layer } from "@effect/vitest"
import { Server } from "@reins/server/Server"
import { Effect } from "effect"
import { Caller, change, codeOf, newCaller, newKey, send, service } from "../Service.js"

const path = "/api/sessions/sess_none/events"
const int = { type: "int_parsing", msg: "Input should be a valid integer, unable to parse string as an integer" }

layer(service(), { excludeTestServices: true })("the service", (it) => {
  describe("answers a malformed query as FastAPI does", () => {
    const cases: ReadonlyArray<readonly [string, ReadonlyArray<object>]> = [
      ["limit=abc", [{ ...int, loc: ["query", "limit"], input: "abc" }]],
      ["limit=", [{ ...int, loc: ["query", "limit"], input: "" }]],
      ["limit=1.5", [{ ...int, loc: ["query", "limit"], input: "1.5" }]],
      ["after=null", [{ ...int, loc: ["query", "after"], input: "null" }]],
      ["after=", [{ ...int, loc: ["query", "after"], input: "" }]],
      [
        "max_seconds=x",
        [
          {
            type: "float_parsing",
            loc: ["query", "max_seconds"],
            msg: "Input should be a valid number, unable to parse string as a number",
            input: "x"
          }
        ]
      ],
      [
        "limit=a&after=b",
        [
          { ...int, loc: ["query", "after"], input: "b" },
          { ...int, loc: ["query", "limit"], input: "a" }
        ]
      ],
      ["limit=5&limit=x", [{ ...int, loc: ["query", "limit"], input: "x" }]],
      [
        "types=nonsense",
        [
          {
            type: "value_error",
            loc: ["query", "types"],
            msg: "Value error, 'nonsense' is no event type",
            input: "nonsense",
            ctx: { error: {} }
          }
        ]
      ]
    ]
    for (const [query, detail] of cases) {
      it.effect(query, () =>
        Effect.gen(function* () {
          const { bearer } = yield* Caller
          const reply = yield* send("GET", `${path}?${query}`, { headers: bearer })
          assert.strictEqual(reply.status, 422)
          assert.deepStrictEqual(reply.json, { detail })
        })
      )
    }
    for (const query of ["limit=10.0", "max_seconds=inf", "limit=%2010%20"]) {
      it.effect(`but accepts ${query}`, () =>
        Effect.gen(function* () {
          const { bearer } = yield* Caller
          assert.strictEqual((yield* send("GET", `${path}?${query}`, { headers: bearer })).status, 404)
        })
      )
    }
  })

  describe("answers a malformed body as FastAPI does", () => {
    const missing = { type: "missing", loc: ["body"], msg: "Field required", input: null }
    const notADictionary = (input: unknown) => ({
      type: "dict_type",
      loc: ["body"],
      msg: "Input should be a valid dictionary",
      input
    })
    const invalid = (at: number, error: string) => ({
      type: "json_invalid",
      loc: ["body", at],
      msg: "JSON decode error",
      input: {},
      ctx: { error }
    })
    const json = "application/json"
    const cases: ReadonlyArray<readonly [string, string | undefined, string | undefined, object]> = [
      ["no body", undefined, undefined, missing],
      ["an empty body", "", json, missing],
      ["null", "null", json, missing],
      ["an array", "[1]", json, notADictionary([1])],
      ["a string", '"x"', json, notADictionary("x")],
      ["a value that is not there", '{"a":', json, invalid(5, "Expecting value")],
      ["a bare name", "{a:1}", json, invalid(1, "Expecting property name enclosed in double quotes")],
      ["no colon", '{"a" 1}', json, invalid(5, "Expecting ':' delimiter")],
      ["no comma", '{"a":1 "b":2}', json, invalid(7, "Expecting ',' delimiter")],
      [
        "a comma too many in an object",
        '{"a":1,}',
        json,
        invalid(7, "Expecting property name enclosed in double quotes")
      ],
      ["a comma too many in an array", "[1,]", json, invalid(3, "Expecting value")],
      ["an open string", '"abc', json, invalid(0, "Unterminated string starting at")],
      ["a control character", '{"a":"x\ny"}', json, invalid(7, "Invalid control character at")],
      ["a bad escape", '{"a":"\\x"}', json, invalid(6, "Invalid \\escape")],
      ["a bad unicode escape", '{"a":"\\u12"}', json, invalid(7, "Invalid \\uXXXX escape")],
      ["more than one value", "1 2", json, invalid(2, "Extra data")],
      ["a leading zero", '{"a":01}', json, invalid(6, "Expecting ',' delimiter")],
      ["white space", "  ", json, invalid(2, "Expecting value")],
      ["a fault after a wide character", '{"\u{1f600}":x}', json, invalid(5, "Expecting value")],
      ["nesting without end", "[".repeat(100_000), json, invalid(200, "Nesting deeper than 200")],
      ["values without end", `[${"{},".repeat(100_000)}`, json, invalid(150_000, "More than 50000 values")]
    ]
    for (const [name, body, type, detail] of cases) {
      it.effect(name, () =>
        Effect.gen(function* () {
          const { bearer } = yield* Caller
          const reply = yield* change("POST", "/api/api-keys", {
            body,
            headers: { ...bearer, ...(type !== undefined && { "content-type": type }) }
          })
          assert.strictEqual(reply.status, 422)
          assert.deepStrictEqual(reply.json, { detail: [detail] })
        })
      )
    }
  })

  it.effect("lists what is wrong with the header and the body of one request together", () =>
    Effect.gen(function* () {
      const { bearer } = yield* Caller
      const reply = yield* send("POST", "/api/api-keys", { headers: bearer })
      assert.deepStrictEqual(reply.json, {
        detail: [
          { type: "missing", loc: ["header", "Idempotency-Key"], msg: "Field required", input: null },
          { type: "missing", loc: ["body"], msg: "Field required", input: null }
        ]
      })
    })
  )

  it.effect("refuses an Idempotency-Key that is empty, too long or not printable", () =>
    Effect.gen(function* () {
      const { bearer } = yield* Caller
      for (const [key, type] of [
        ["", "string_too_short"],
        ["x".repeat(256), "string_too_long"],
        ["caf\u00e9", "string_pattern_mismatch"]
      ] as const) {
        const reply = yield* send("POST", "/api/auth/logout", { headers: { ...bearer, "idempotency-key": key } })
        assert.strictEqual(reply.status, 422)
        assert.nestedPropertyVal(reply.json, "detail[0].type", type)
        assert.nestedPropertyVal(reply.json, "detail[0].loc[1]", "Idempotency-Key")
      }
    })
  )

  it.effect("accepts a JSON type with parameters or a suffix", () =>
    Effect.gen(function* () {
      const { bearer } = yield* Caller
      for (const type of ["application/json; charset=utf-8", "application/merge-patch+json"]) {
        const reply = yield* change("POST", "/api/api-keys", {
          body: '{"name":"a"}',
          headers: { ...bearer, "content-type": type }
        })
        assert.strictEqual(reply.status, 201)
      }
    })
  )

  it.effect("names every answer by X-Request-Id, the caller's if it is well formed, also in the envelope", () =>
    Effect.gen(function* () {
      const given = yield* send("GET", "/api/nothing", { headers: { "x-request-id": "abc.1-2_3" } })
      assert.strictEqual(given.headers.get("x-request-id"), "abc.1-2_3")
      assert.nestedPropertyVal(given.json, "error.request_id", "abc.1-2_3")
      for (const id of ["a b", "x".repeat(129), "a/b"]) {
        const made = yield* send("GET", "/healthz", { headers: { "x-request-id": id } })
        assert.match(made.headers.get("x-request-id") ?? "", /^[\w.-]{1,128}$/)
        assert.notStrictEqual(made.headers.get("x-request-id"), id)
      }
    })
  )

  it.effect("sets the security headers on every kind of answer", () =>
    Effect.gen(function* () {
      const { bearer } = yield* Caller
      const replies = yield* Effect.all([
        send("GET", "/api/me", { headers: bearer }),
        send("GET", "/api/me"),
        send("GET", "/nothing"),
        send("DELETE", "/api/me"),
        send("GET", `${path}?limit=x`, { headers: bearer }),
        send("GET", "/healthz")
      ])
      assert.deepStrictEqual(
        replies.map((reply) => reply.status),
        [200, 401, 404, 405, 422, 200]
      )
      for (const { headers } of replies) {
        assert.strictEqual(headers.get("x-content-type-options"), "nosniff")
        assert.strictEqual(headers.get("referrer-policy"), "no-referrer")
        assert.strictEqual(headers.get("cache-control"), "no-store")
        assert.include(headers.get("content-security-policy"), "frame-ancestors 'none'")
        assert.isNull(headers.get("strict-transport-security"))
      }
    })
  )

  it.effect("answers an unknown path with 404, another method with 405 and what is allowed", () =>
    Effect.gen(function* () {
      const unknown = yield* send("POST", "/api/nothing")
      assert.deepStrictEqual([unknown.status, codeOf(unknown)], [404, "not_found"])
      const wrong = yield* send("PUT", "/api/connections/con_1")
      assert.deepStrictEqual([wrong.status, codeOf(wrong)], [405, "method_not_allowed"])
      assert.sameMembers((wrong.headers.get("allow") ?? "").split(", "), ["GET", "HEAD", "PATCH", "DELETE", "OPTIONS"])
      const options = yield* send("OPTIONS", "/api/api-keys")
      assert.strictEqual(options.status, 204)
      assert.sameMembers((options.headers.get("allow") ?? "").split(", "), ["GET", "HEAD", "POST", "OPTIONS"])
      assert.strictEqual((yield* send("OPTIONS", "/api/nothing")).status, 404)
      assert.strictEqual((yield* send("GET", "/API/me")).status, 404)
      assert.strictEqual((yield* send("GET", "/api/%ZZ")).status, 404)
      assert.strictEqual((yield* send("GET", "/healthz/")).status, 404)
      for (const id of ["x".repeat(201), "x".repeat(2000), "%ZZ", "%C3%28"]) {
        const reply = yield* send("GET", `/api/sessions/${id}`)
        assert.deepStrictEqual([reply.status, codeOf(reply)], [404, "not_found"], id)
        assert.strictEqual((yield* send("PUT", `/api/sessions/${id}`)).status, 405)
      }
    })
  )

  it.effect("serves a request that offers an upgrade like any other", () =>
    Effect.gen(function* () {
      const { bearer } = yield* Caller
      const { url } = yield* Server
      const status = yield* Effect.async<number>((resume) => {
        const headers = {
          ...bearer,
          "idempotency-key": newKey(),
          "content-type": "application/json",
          connection: "Upgrade, HTTP2-Settings",
          upgrade: "h2c",
          "http2-settings": "AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA"
        }
        const sending = request(`${url}/api/api-keys`, { method: "POST", headers }, (response) => {
          response.resume()
          resume(Effect.succeed(response.statusCode ?? 0))
        })
        sending.end('{"name":"upgraded"}')
      })
      assert.strictEqual(status, 201)
    })
  )

  it.effect("answers HEAD like GET without the body", () =>
    Effect.gen(function* () {
      const { bearer } = yield* Caller
      const reply = yield* send("HEAD", "/api/me", { headers: bearer })
      assert.strictEqual(reply.status, 200)
      assert.isAbove(Number(reply.headers.get("content-length")), 0)
      assert.strictEqual(reply.text, "")
    })
  )

  it.effect("refuses a body beyond 1 MiB by its length, and a chunked one when it gets there", () =>
    Effect.gen(function* () {
      const { bearer } = yield* Caller
      const { url } = yield* Server
      const name = "x".repeat(1024 * 1024)
      const declared = yield* change("POST", "/api/api-keys", { headers: bearer, body: { name } })
      assert.deepStrictEqual([declared.status, codeOf(declared)], [413, "payload_too_large"])
      const chunked = yield* Effect.async<number>((resume) => {
        const sending = request(
          `${url}/api/api-keys`,
          {
            method: "POST",
            headers: {
              ...bearer,
              "idempotency-key": newKey(),
              "content-type": "application/json",
              "transfer-encoding": "chunked"
            }
          },
          (response) => {
            response.resume()
            resume(Effect.succeed(response.statusCode ?? 0))
          }
        )
        sending.on("error", () => {})
        sending.write('{"name":"')
        for (let index = 0; index < 20; index++) sending.write("x".repeat(100_000))
      })
      assert.strictEqual(chunked, 413)
    })
  )

  it.effect("refuses a body beyond 16 KiB of somebody who has no account", () =>
    Effect.gen(function* () {
      for (const path of ["register", "login", "email-verifications", "password-resets"]) {
        const reply = yield* change("POST", `/api/auth/${path}`, { body: { email: "x".repeat(16 * 1024) } })
        assert.deepStrictEqual([path, reply.status, codeOf(reply)], [path, 413, "payload_too_large"])
      }
    })
  )

  it.effect("refuses a compressed body", () =>
    Effect.gen(function* () {
      const { bearer } = yield* Caller
      const reply = yield* change("POST", "/api/api-keys", {
        headers: { ...bearer, "content-encoding": "gzip" },
        body: { name: "a" }
      })
      assert.deepStrictEqual([reply.status, codeOf(reply)], [415, "unsupported_media_type"])
    })
  )

  it.effect("pages lists with next_cursor and a Link, and gives versions as ETags", () =>
    Effect.gen(function* () {
      const { bearer } = yield* newCaller()
      yield* change("POST", "/api/api-keys", { headers: bearer, body: { name: "second" } })
      const first = yield* send("GET", "/api/api-keys?limit=1", { headers: bearer })
      assert.nestedProperty(first.json, "items[0]")
      const link = /^<(.+)>; rel="next"$/.exec(first.headers.get("link") ?? "")?.[1] ?? ""
      const asked = new URL("https://reins.example.com/below/a/path/api/api-keys?limit=1")
      const target = new URL(link, asked)
      assert.strictEqual(target.pathname, asked.pathname)
      assert.strictEqual(target.searchParams.get("limit"), "1")
      const next = yield* send("GET", `/api/api-keys${target.search}`, { headers: bearer })
      assert.nestedPropertyVal(next.json, "items[0].name", "test")
      assert.isNull(next.headers.get("link"))
    })
  )

  it.effect("describes itself to programs, and says how it is", () =>
    Effect.gen(function* () {
      const document = yield* send("GET", "/openapi.json")
      assert.nestedPropertyVal(document.json, "openapi", "3.1.0")
      assert.deepStrictEqual((yield* send("GET", "/readyz")).json, {
        status: "ready",
        checks: { database: "ok", migrations: "ok", disk: "ok" }
      })
      assert.deepStrictEqual((yield* send("GET", "/healthz")).json, { status: "ok" })
    })
  )

  it.effect("makes the change conditional with If-Match as with expected_version", () =>
    Effect.gen(function* () {
      const { bearer } = yield* newCaller()
      const me = yield* send("GET", "/api/workspaces", { headers: bearer })
      const workspace = /"(wsp_\w+)"/.exec(me.text)?.[1] ?? ""
      const project = yield* change("POST", `/api/workspaces/${workspace}/projects`, {
        headers: bearer,
        body: { slug: "one", name: "One" }
      })
      assert.strictEqual(project.status, 201)
      const id = /"(prj_\w+)"/.exec(project.text)?.[1] ?? ""
      const read = yield* send("GET", `/api/projects/${id}`, { headers: bearer })
      const etag = read.headers.get("etag") ?? ""
      const renamed = yield* change("PATCH", `/api/projects/${id}`, {
        headers: { ...bearer, "if-match": etag },
        body: { name: "Two" }
      })
      assert.strictEqual(renamed.status, 200)
      const stale = yield* change("PATCH", `/api/projects/${id}`, {
        headers: { ...bearer, "if-match": etag },
        body: { name: "Three" }
      })
      assert.deepStrictEqual([stale.status, codeOf(stale)], [409, "version_conflict"])
    })
  )

  it.effect("refuses a condition on a change that cannot be conditional, rather than make the change regardless", () =>
    Effect.gen(function* () {
      const { bearer } = yield* newCaller()
      const created = yield* change("POST", "/api/api-keys", { headers: bearer, body: { name: "one" } })
      const key = `/api/api-keys/${Object(created.json).id}`
      const refused = yield* change("DELETE", key, { headers: { ...bearer, "if-match": '"1"' } })
      assert.strictEqual(refused.status, 422)
      assert.nestedPropertyVal(refused.json, "detail[0].loc[1]", "If-Match")
      const list = yield* send("GET", "/api/api-keys", { headers: { ...bearer, "if-match": '"1"' } })
      assert.nestedPropertyVal(list.json, "items[0].revoked_at", null)
      assert.strictEqual((yield* change("DELETE", key, { headers: { ...bearer, "if-match": "*" } })).status, 200)
    })
  )
})
