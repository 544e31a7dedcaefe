import { createHash, randomBytes } from "node:crypto"
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Queue } from "effect"
import { ask, bearer, errorOf, gatewayOf, key, lentTo, services, servicesWith } from "./Loans.js"

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
    }).pipe(Effect.provide(servicesWith([])))
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
