import { createHash, randomBytes } from "node:crypto"
import http, { type IncomingHttpHeaders, type RequestListener } from "node:http"
import { gzipSync } from "node:zlib"
import { assert, it } from "@effect/vitest"
import { Manifests } from "@reins/core/catalog/Manifests"
import { CredentialProxy } from "@reins/core/connections/CredentialProxy"
import { Outbound } from "@reins/core/connections/Outbound"
import type { HarnessConnection } from "@reins/core/harness/TurnInput"
import { Deferred, Effect, Exit, Fiber, Layer, Queue, Redacted, Scope } from "effect"

const key = 'sk-real"key/Zq8rT2vX5nB7'
const services = Layer.provide(
  CredentialProxy.layer,
  Layer.merge(Manifests.layer, Outbound.layerWith({ allowPrivateHosts: ["127.0.0.1", "gateway.invalid"] }))
)

const portOf = (server: http.Server) => {
  const address = server.address()
  return typeof address === "object" && address !== null ? address.port : 0
}

/** A gateway on loopback with the base path `/v1`. */
const gatewayOf = (listener: RequestListener) =>
  Effect.acquireRelease(
    Effect.async<http.Server>((resume) => {
      const server = http.createServer(listener)
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) =>
      Effect.async<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  ).pipe(Effect.map((server) => `http://127.0.0.1:${portOf(server)}/v1`))

const connectionTo = (baseUrl: string, apiKey = key): HarnessConnection => ({
  kind: "alpha_gateway",
  settings: { base_url: baseUrl, protocol: "openai_chat" },
  secrets: { api_key: Redacted.make(apiKey) }
})

const lend = (connection: HarnessConnection) => Effect.flatMap(CredentialProxy, (proxy) => proxy.lend(connection))

const lentTo = (baseUrl: string, apiKey?: string) =>
  Effect.map(lend(connectionTo(baseUrl, apiKey)), ({ secrets, settings }) => ({
    url: settings["base_url"] ?? "",
    token: secrets["api_key"] === undefined ? "" : Redacted.value(secrets["api_key"])
  }))

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

interface Question {
  readonly method?: string
  /** As it stands in the request line, instead of the path of the URL. */
  readonly path?: string
  readonly headers?: http.OutgoingHttpHeaders
  readonly body?: string | Buffer
  readonly onChunk?: (text: string) => void
  readonly onError?: (received: string) => void
}

const ask = (url: string, { body, headers = {}, method = "GET", onChunk, onError, path }: Question = {}) =>
  Effect.async<Answer, Error>((resume) => {
    const request = http.request(url, { method, headers, agent: false, ...(path === undefined ? {} : { path }) })
    request.on("error", (error) => resume(Effect.fail(error)))
    request.on("response", (response) => {
      const chunks: Array<Buffer> = []
      response.on("data", (chunk: Buffer) => {
        chunks.push(chunk)
        onChunk?.(chunk.toString())
      })
      response.on("error", (error) => {
        onError?.(Buffer.concat(chunks).toString())
        resume(Effect.fail(error))
      })
      response.on("end", () =>
        resume(
          Effect.succeed({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) })
        )
      )
    })
    request.end(body)
    return Effect.sync(() => request.destroy())
  })

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

const errorOf = (answer: Answer): { readonly type: string; readonly message: string } =>
  JSON.parse(answer.body.toString()).error

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
      { "api-key": token }
    ]
    for (const field of fields) {
      const more = { cookie: "a=b", "x-other": token, connection: "close, x-hop", "x-hop": "1" }
      const answer = yield* ask(`${url}/messages?beta=true`, { method: "POST", headers: { ...field, ...more }, body })
      assert.deepStrictEqual([answer.status, answer.body.toString()], [200, "{}"])
      assert.isUndefined(answer.headers["set-cookie"])
    }
    const [asBearer, asAnthropic, asAzure] = seen.map((request) => request.headers)
    assert.deepStrictEqual([asBearer?.authorization, asBearer?.["x-api-key"]], [`Bearer ${key}`, undefined])
    assert.deepStrictEqual([asAnthropic?.["x-api-key"], asAnthropic?.authorization], [key, undefined])
    assert.strictEqual(asAnthropic?.["anthropic-version"], "2023-06-01")
    assert.strictEqual(asAzure?.["api-key"], key)
    for (const { headers, raw, url } of seen) {
      assert.strictEqual(url, "POST /v1/messages?beta=true")
      assert.strictEqual(headers["content-length"], String(body.length))
      assert.isTrue(["cookie", "x-hop", "x-other"].every((name) => headers[name] === undefined))
      assert.notInclude(raw, token)
      assert.include(raw, "REINS_API_KEY=***")
    }
  }).pipe(Effect.provide(services))
)

it.scopedLive("an answer streams chunk by chunk", () =>
  Effect.gen(function* () {
    let writeNext = () => {}
    const base = yield* gatewayOf((_request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" })
      const events = ["data: one\n\n", "data: two\n\n", "data: three\n\n"]
      writeNext = () => {
        const event = events.shift()
        if (event === undefined) response.end()
        else response.write(event)
      }
      writeNext()
    })
    const { token, url } = yield* lentTo(base)
    const chunks: Array<string> = []
    const answer = yield* ask(`${url}/chat/completions`, {
      method: "POST",
      headers: bearer(token),
      body: "{}",
      // The next event is written only after the agent has read the one before.
      onChunk: (text) => {
        chunks.push(text)
        writeNext()
      }
    })
    assert.strictEqual(answer.headers["content-type"], "text/event-stream")
    assert.deepStrictEqual(chunks, ["data: one\n\n", "data: two\n\n", "data: three\n\n"])
  }).pipe(Effect.provide(services))
)

it.scopedLive("a large body passes both ways unchanged", () =>
  Effect.gen(function* () {
    const base = yield* gatewayOf((request, response) => void request.pipe(response))
    const { token, url } = yield* lentTo(base)
    const body = randomBytes(24 * 1024 * 1024)
    const digest = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex")
    const headers = bearer(token)
    const known = yield* ask(`${url}/files`, { method: "POST", headers, body })
    assert.strictEqual(digest(known.body), digest(body))
    const chunked = { ...headers, "transfer-encoding": "chunked" }
    const unknown = yield* ask(`${url}/files`, { method: "PUT", headers: chunked, body })
    assert.strictEqual(digest(unknown.body), digest(body))
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
      `${pathname}/models?key=${token}`,
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

it.scopedLive("a base URL keeps its query and loses its last slash", () =>
  Effect.gen(function* () {
    const asked: Array<string> = []
    const base = yield* gatewayOf((request, response) => {
      asked.push(request.url ?? "")
      response.end()
    })
    const { token, url } = yield* lentTo(`${base}/?api-version=1`)
    assert.match(url, /\/v1$/)
    yield* ask(`${url}/models`, { headers: bearer(token) })
    yield* ask(`${url}/models?a=1`, { headers: bearer(token) })
    assert.deepStrictEqual(asked, ["/v1/models?api-version=1", "/v1/models?api-version=1&a=1"])
  }).pipe(Effect.provide(services))
)

it.scopedLive("a gateway that breaks off in mid-stream breaks off for the agent, after the words before it", () =>
  Effect.gen(function* () {
    let reset = () => {}
    const base = yield* gatewayOf((_request, response) => {
      reset = () => void response.socket?.resetAndDestroy()
      response.write("data: one\n\n")
    })
    const { token, url } = yield* lentTo(base)
    let received = ""
    const question = {
      headers: bearer(token),
      onChunk: () => reset(),
      onError: (text: string) => {
        received = text
      }
    }
    const error = yield* Effect.flip(ask(`${url}/responses`, question))
    assert.deepStrictEqual([error.message, received], ["aborted", "data: one\n\n"])
  }).pipe(Effect.provide(services))
)

it.scopedLive("a gateway that cannot be reached is told as 502, with a body of any size on its way", () =>
  Effect.gen(function* () {
    const closed = yield* Effect.scoped(gatewayOf(() => {}))
    const plain = yield* gatewayOf((_request, response) => void response.end())
    const dropping = yield* gatewayOf((request) => request.socket.destroy())
    const upgrading = yield* gatewayOf((request) => {
      request.socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n")
    })
    const cases = [
      [closed, "refuses connections"],
      [plain.replace("http:", "https:"), "does not speak TLS"],
      [dropping, "closed the connection without an answer"],
      [upgrading, "closed the connection without an answer"],
      ["http://gateway.invalid/v1", "its name"]
    ] as const
    for (const [base, cause] of cases) {
      const { token, url } = yield* lentTo(base)
      for (const body of ["{}", Buffer.alloc(8 * 1024 * 1024)]) {
        const answer = yield* ask(`${url}/responses`, { method: "POST", headers: bearer(token), body })
        assert.strictEqual(answer.status, 502)
        assert.include(errorOf(answer).message, cause)
        assert.include(errorOf(answer).message, new URL(base).origin)
        assert.notInclude(answer.body.toString(), key)
      }
    }
  }).pipe(Effect.provide(services))
)

it.scopedLive(
  "a gateway on a private address that the operator has not allowed is not asked, and that is no passing failure",
  () =>
    Effect.gen(function* () {
      let asked = 0
      const base = yield* gatewayOf((_request, response) => {
        asked++
        response.end()
      })
      for (const refused of [base, base.replace("http:", "https:"), base.replace("127.0.0.1", "localhost")]) {
        const { token, url } = yield* lentTo(refused)
        const answer = yield* ask(`${url}/responses`, { method: "POST", headers: bearer(token), body: "{}" })
        assert.strictEqual(answer.status, 400)
        assert.deepInclude(errorOf(answer), { type: "gateway_refused" })
        assert.include(errorOf(answer).message, "REINS_ALLOW_PRIVATE_HOSTS")
      }
      assert.strictEqual(asked, 0)
    }).pipe(
      Effect.provide(CredentialProxy.layer),
      Effect.provide(Layer.merge(Manifests.layer, Outbound.layerWith({ allowPrivateHosts: [] })))
    )
)

it.scopedLive("a redirect is not followed and not passed on", () =>
  Effect.gen(function* () {
    let lured = 0
    const elsewhere = yield* gatewayOf((_request, response) => {
      lured++
      response.end()
    })
    const base = yield* gatewayOf((_request, response) => void response.writeHead(307, { location: elsewhere }).end())
    const { token, url } = yield* lentTo(base)
    const answer = yield* ask(`${url}/models`, { headers: bearer(token) })
    assert.deepStrictEqual([answer.status, answer.headers.location, lured], [502, undefined, 0])
    assert.include(errorOf(answer).message, "redirect (307)")
  }).pipe(Effect.provide(services))
)

it.scopedLive("an agent that leaves makes the proxy leave the gateway", () =>
  Effect.gen(function* () {
    const begun = yield* Queue.unbounded<string>()
    const left = yield* Queue.unbounded<string>()
    const base = yield* gatewayOf(({ url = "" }, response) => {
      response.once("close", () => Queue.unsafeOffer(left, url))
      if (url === "/v1/streaming") response.write("data: one\n\n")
      else Queue.unsafeOffer(begun, url)
    })
    const { token, url } = yield* lentTo(base)
    for (const path of ["/waiting", "/streaming"]) {
      const onChunk = () => Queue.unsafeOffer(begun, path)
      const asking = yield* Effect.fork(ask(url + path, { headers: bearer(token), onChunk }))
      yield* Queue.take(begun)
      yield* Fiber.interrupt(asking)
      assert.strictEqual(yield* Queue.take(left), `/v1${path}`)
    }
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

it.scopedLive("fifty streams at once do not mix", () =>
  Effect.gen(function* () {
    const waiting: Array<() => void> = []
    const base = yield* gatewayOf((request, response) => {
      response.write(`${request.url} begins\n`)
      waiting.push(() => response.end(`${request.url} ends\n`))
      // None ends before all have begun.
      if (waiting.length === 50) for (const end of waiting) end()
    })
    const { token, url } = yield* lentTo(base)
    const answers = yield* Effect.forEach(
      Array.from({ length: 50 }, (_, at) => at),
      (at) => ask(`${url}/stream/${at}`, { headers: bearer(token) }),
      { concurrency: "unbounded" }
    )
    answers.forEach((answer, at) => {
      assert.strictEqual(answer.body.toString(), `/v1/stream/${at} begins\n/v1/stream/${at} ends\n`)
    })
  }).pipe(Effect.provide(services))
)

it.scopedLive(
  "a connection without an api_key is given back as it is, and a kind's own base URL serves where none is set",
  () =>
    Effect.gen(function* () {
      const bare = { kind: "beta", settings: {}, secrets: { auth_json: Redacted.make("{}") } }
      assert.strictEqual(yield* lend(bare), bare)
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
