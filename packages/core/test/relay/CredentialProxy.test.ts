import type http from "node:http"
import type { IncomingHttpHeaders } from "node:http"
import { gzipSync } from "node:zlib"
import { assert, it } from "@effect/vitest"
import { CredentialProxy } from "@reins/machine/relay/gateway/CredentialProxy"
import { Deferred, Effect, Exit, Redacted, Scope } from "effect"
import { ask, bearer, errorOf, gatewayOf, key, lend, lentTo, services } from "./Loans.js"

it.scopedLive("the proxy keeps no process alive and closes with its layer", () =>
  Effect.gen(function* () {
    const base = yield* gatewayOf((_request, response) => void response.end())
    const listening = () => process.getActiveResourcesInfo().filter((name) => name === "TCPServerWrap").length
    const before = listening()
    const { token, url } = yield* Effect.gen(function* () {
      const lent = yield* lentTo(base)
      assert.strictEqual((yield* ask(`${lent.url}/models`, { headers: bearer(lent.token) })).status, 200)
      assert.strictEqual(listening(), before)
      return lent
    }).pipe(Effect.scoped, Effect.provide(services))
    assert.include((yield* Effect.flip(ask(`${url}/models`, { headers: bearer(token) }))).message, "ECONNREFUSED")
  })
)

it.scopedLive("the key reaches the gateway in the field that the agent used, and the token reaches it nowhere", () =>
  Effect.gen(function* () {
    const seen: Array<{ readonly url: string; readonly raw: string; readonly headers: IncomingHttpHeaders }> = []
    const base = yield* gatewayOf(async (request, response) => {
      const chunks: Array<Buffer> = []
      for await (const chunk of request) chunks.push(chunk)
      const { headers, method, url = "" } = request
      seen.push({ url: `${method} ${url}`, headers, raw: JSON.stringify(headers) + url + Buffer.concat(chunks) })
      response.setHeader("set-cookie", "a=b").end("{}")
    })
    const { token, url } = yield* lentTo(base)
    assert.match(url, /^http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]+\/v1$/)
    assert.match(token, /^[\w-]{43}$/)
    const body = JSON.stringify({ output: `REINS_API_KEY=${token}` })
    const fields = [
      { authorization: `Bearer ${token}` },
      { "x-api-key": token, "anthropic-version": "2023-06-01" },
      { "api-key": token },
      { "x-goog-api-key": token }
    ]
    for (const field of fields) {
      const more = { cookie: "a=b", "x-other": token, connection: "close, x-hop", "x-hop": "1" }
      const answer = yield* ask(`${url}/messages?beta=true`, { method: "POST", headers: { ...field, ...more }, body })
      assert.deepStrictEqual([answer.status, answer.body.toString()], [200, "{}"])
      assert.isUndefined(answer.headers["set-cookie"])
    }
    const [asBearer, asAnthropic, asAzure, asGoogle] = seen.map((request) => request.headers)
    assert.deepStrictEqual([asBearer?.authorization, asBearer?.["x-api-key"]], [`Bearer ${key}`, undefined])
    assert.deepStrictEqual([asAnthropic?.["x-api-key"], asAnthropic?.authorization], [key, undefined])
    assert.strictEqual(asAnthropic?.["anthropic-version"], "2023-06-01")
    assert.strictEqual(asAzure?.["api-key"], key)
    assert.deepStrictEqual([asGoogle?.["x-goog-api-key"], asGoogle?.authorization], [key, undefined])
    for (const { headers, raw, url } of seen) {
      assert.strictEqual(url, "POST /v1/messages?beta=true")
      assert.strictEqual(headers["content-length"], String(body.length))
      assert.isTrue(["cookie", "x-hop", "x-other"].every((name) => headers[name] === undefined))
      assert.notInclude(raw, token)
      assert.include(raw, "REINS_API_KEY=***")
    }
  }).pipe(Effect.provide(services))
)

it.scopedLive(
  "a token in the query becomes a key in a header, and neither stands in the URL that the gateway sees",
  () =>
    Effect.gen(function* () {
      const seen: Array<{ readonly url: string; readonly headers: IncomingHttpHeaders }> = []
      const base = yield* gatewayOf(({ headers, url = "" }, response) => {
        seen.push({ url, headers })
        response.end("{}")
      })
      const { token, url } = yield* lentTo(base)
      const path = "/models/m:streamGenerateContent"
      assert.strictEqual((yield* ask(`${url}${path}?key=${token}&alt=sse`)).status, 200)
      assert.strictEqual((yield* ask(`${url}${path}?alt=sse&key=${token}`, { headers: bearer(token) })).status, 200)
      for (const { headers, url } of seen) {
        assert.strictEqual(url, `/v1${path}?alt=sse`)
        assert.strictEqual(headers["x-goog-api-key"], key)
      }
      assert.deepStrictEqual(
        seen.map(({ headers }) => headers.authorization),
        [undefined, `Bearer ${key}`]
      )
      for (const query of [`key=${token}A`, `key=`, `key=${token}&key=other`, `token=${token}`])
        assert.strictEqual((yield* ask(`${url}${path}?${query}`)).status, 401, query)
      assert.strictEqual((yield* ask(`${url}${path}?key=${encodeURIComponent(key)}`)).status, 401)
      assert.lengthOf(seen, 2)
    }).pipe(Effect.provide(services))
)

it.scopedLive("the token ends with its scope, which also breaks off what is under way", () =>
  Effect.gen(function* () {
    const base = yield* gatewayOf((_request, response) => void response.write("data: one\n\n"))
    const scope = yield* Scope.make()
    const { token, url } = yield* Scope.extend(lentTo(base), scope)
    const started = yield* Deferred.make<void>()
    const onChunk = () => Deferred.unsafeDone(started, Effect.void)
    const running = yield* Effect.fork(Effect.flip(ask(`${url}/responses`, { headers: bearer(token), onChunk })))
    yield* Deferred.await(started)
    yield* Scope.close(scope, Exit.void)
    assert.strictEqual((yield* running).message, "aborted")
    const answer = yield* ask(`${url}/responses`, { headers: bearer(token) })
    assert.deepStrictEqual([answer.status, errorOf(answer).type], [401, "authentication_error"])
  }).pipe(Effect.provide(services))
)

it.scopedLive("a request without the token of its own loan is answered 401 and goes nowhere", () =>
  Effect.gen(function* () {
    let asked = 0
    const base = yield* gatewayOf((_request, response) => {
      asked++
      response.end()
    })
    const { token, url } = yield* lentTo(base)
    const other = yield* lentTo(base)
    const wrong: ReadonlyArray<http.OutgoingHttpHeaders> = [
      {},
      bearer(""),
      bearer("A".repeat(43)),
      bearer(`${token}A`),
      bearer(key),
      bearer(other.token),
      { authorization: `Basic ${token}` },
      { authorization: token },
      { "x-api-key": "A".repeat(43) },
      { cookie: `token=${token}` },
      { ...bearer(token), "x-api-key": "other" }
    ]
    for (const headers of wrong) {
      const answer = yield* ask(`${url}/models`, { headers })
      assert.strictEqual(answer.status, 401, JSON.stringify(headers))
      assert.notInclude(answer.body.toString(), token)
      assert.notInclude(answer.body.toString(), key)
    }
    const elsewhere = yield* ask(url, { headers: bearer(token), path: "/v1/models" })
    assert.strictEqual(elsewhere.status, 401)
    assert.strictEqual(asked, 0)
    assert.strictEqual((yield* ask(`${other.url}/models`, { headers: bearer(other.token) })).status, 200)
    assert.strictEqual(asked, 1)
  }).pipe(Effect.provide(services))
)

it.scopedLive("a request that leads away from the base URL is refused", () =>
  Effect.gen(function* () {
    const asked: Array<string> = []
    const base = yield* gatewayOf((request, response) => {
      asked.push(request.url ?? "")
      response.end()
    })
    const { token, url } = yield* lentTo(base)
    const { origin, pathname } = new URL(url)
    const above = pathname.slice(0, -"/v1".length)
    const paths = [
      `${pathname}/../admin`,
      `${pathname}/..`,
      `${pathname}/./models`,
      `${pathname}/%2e%2e/admin`,
      `${pathname}/.%2E/admin`,
      `${pathname}/..%2fadmin`,
      `${pathname}/%252e%252e%252fadmin`,
      `${pathname}/x%5c..%5cadmin`,
      `${pathname}/..\\admin`,
      `${pathname}/..;a=b/admin`,
      `${pathname}//other.example/x`,
      `${pathname}/a%0d%0ab`,
      `${pathname}/%zz`,
      `${pathname}/models#/x`,
      `${pathname}/models?other=${token}`,
      `${pathname}-admin/models`,
      `${above}/admin`,
      above,
      `${base}/models`,
      `${origin}${pathname}/models`
    ]
    for (const path of paths) {
      const answer = yield* ask(origin, { path, headers: bearer(token) })
      assert.include([400, 401], answer.status, path)
    }
    const trace = yield* ask(`${url}/models`, { method: "TRACE", headers: bearer(token) })
    assert.strictEqual(trace.status, 405)
    const upgrade = { ...bearer(token), connection: "upgrade", upgrade: "websocket" }
    assert.strictEqual((yield* ask(`${url}/responses`, { headers: upgrade })).status, 400)
    const tunnel = { method: "CONNECT", path: new URL(base).host, headers: bearer(token) }
    assert.strictEqual((yield* Effect.flip(ask(origin, tunnel))).message, "socket hang up")
    assert.deepStrictEqual(asked, [])
    yield* ask(origin, { path: `${pathname}/models/openai%2Fgpt-5:free?a=..%2f`, headers: bearer(token) })
    yield* ask(url, { headers: bearer(token) })
    assert.deepStrictEqual(asked, ["/v1/models/openai%2Fgpt-5:free?a=..%2f", "/v1"])
  }).pipe(Effect.provide(services))
)

it.scopedLive("an error passes unchanged, but for the key in its body and fields", () =>
  Effect.gen(function* () {
    const said = (text: string) =>
      JSON.stringify({ error: { message: `Incorrect API key provided: ${text}.`, type: "x" } })
    const base = yield* gatewayOf((request, response) => {
      const echo = said(request.headers.authorization ?? "")
      const body = request.url === "/v1/gzip" ? gzipSync(echo) : Buffer.from(echo)
      const encoding = request.url === "/v1/gzip" ? { "content-encoding": "gzip" } : {}
      response.writeHead(401, { "content-type": "application/json", "x-echo": `key=${key}`, ...encoding })
      // In two parts, so that the key is torn.
      const middle = echo.indexOf("sk-real") + 9
      response.write(body.subarray(0, middle), () => response.end(body.subarray(middle)))
    })
    const { token, url } = yield* lentTo(base)
    for (const path of ["/plain", "/gzip"]) {
      const answer = yield* ask(url + path, { headers: { ...bearer(token), "accept-encoding": "gzip" } })
      assert.deepStrictEqual([answer.status, answer.body.toString()], [401, said("Bearer [secret]")])
      assert.strictEqual(answer.headers["x-echo"], "key=[secret]")
      assert.strictEqual(answer.headers["content-type"], "application/json")
    }
  }).pipe(Effect.provide(services))
)

it.scopedLive(
  "a connection without an api_key is given back as it is, and a kind's own base URL serves where none is set",
  () =>
    Effect.gen(function* () {
      const bare = { kind: "beta", settings: {}, secrets: { auth_json: Redacted.make("{}") } }
      assert.strictEqual(yield* lend(bare), bare)
      const { gateway } = yield* (yield* CredentialProxy).lend({
        ...bare,
        settings: { base_url: "https://own.example/v1" }
      })
      assert.strictEqual(gateway?.href, "https://own.example/v1")
      const beta = yield* lend({
        kind: "beta",
        settings: {},
        secrets: { ...bare.secrets, api_key: Redacted.make(key) }
      })
      assert.match(beta.settings["base_url"] ?? "", /^http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]+\/v1$/)
      assert.deepStrictEqual(beta.secrets["auth_json"], bare.secrets.auth_json)
      assert.notStrictEqual(beta.secrets["api_key"] && Redacted.value(beta.secrets["api_key"]), key)
      const nowhere = yield* lend({ kind: "other", settings: {}, secrets: { api_key: Redacted.make(key) } })
      assert.deepStrictEqual(nowhere.secrets, {})
    }).pipe(Effect.provide(services))
)

it.scopedLive("a key that no header can carry is told as 401", () =>
  Effect.gen(function* () {
    const base = yield* gatewayOf((_request, response) => void response.end())
    const { token, url } = yield* lentTo(base, "sk-line\nbreak")
    const answer = yield* ask(`${url}/models`, { headers: bearer(token) })
    assert.strictEqual(answer.status, 401)
    assert.notInclude(answer.body.toString(), "sk-line")
  }).pipe(Effect.provide(services))
)
