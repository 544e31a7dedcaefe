import http from "node:http"
import net from "node:net"
import { assert, it } from "@effect/vitest"
import { Manifests } from "@reins/core/harness/Manifests"
import { Outbound } from "@reins/core/outbound/Outbound"
import { CredentialProxy } from "@reins/core/relay/gateway/CredentialProxy"
import { type Loan, type LoanKind, Loans } from "@reins/core/relay/Loans"
import { eventually } from "@reins/testing/process/Waiting"
import { Effect, Exit, Layer, Redacted, Scope } from "effect"
import { type Answer, ask, bearer, errorOf, gatewayOf, lentTo } from "./Loans.js"

const services = CredentialProxy.layer.pipe(
  Layer.provideMerge(Loans.layer),
  Layer.provide([Manifests.layer, Outbound.layerWith({ allowPrivateHosts: ["127.0.0.1"] })])
)

/** A kind of loan as another room would bring it: it answers calls with their path, also while no turn runs, and streams `/stream` for ever. */
const echo = (told: Array<string> = []): LoanKind => ({
  answer: (request, response, { path }) => {
    const below = (request.url ?? "").slice(path.length)
    response.writeHead(200, { "content-type": "text/plain" }).write(`echo ${below}`)
    if (below !== "/stream") return response.end()
    told.push("open")
    return response.once("close", () => told.push("broken off"))
  },
  answerClosed: (_request, response) => response.writeHead(200).end("No turn of yours runs."),
  upgrade: (_request, socket, head) => {
    socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
    socket.write(head)
    socket.pipe(socket)
  },
  closing: () => told.push("closing")
})

const lend = (kind: LoanKind) => Effect.flatMap(Loans, (loans) => loans.lend(kind))

const urlOf = ({ path, port }: Loan) => `http://127.0.0.1:${port}${path}`
const tokenOf = ({ token }: Loan) => Redacted.value(token)

const withoutDate = ({ body, headers: { date: _, ...headers }, status }: Answer) => ({
  status,
  headers,
  body: body.toString()
})

/** Asks for an upgrade, and collects all that comes back. */
const upgraded = ({ path, port }: Pick<Loan, "path" | "port">, token: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const socket = net.connect(port, "127.0.0.1")
      const seen = { socket, text: "", isClosed: false }
      socket.on("data", (bytes) => {
        seen.text += bytes.toString()
      })
      socket.on("error", () => undefined)
      socket.once("close", () => {
        seen.isClosed = true
      })
      const head = ["Host: a", "Connection: Upgrade", "Upgrade: websocket", `Authorization: Bearer ${token}`]
      socket.write(`GET ${path}/live HTTP/1.1\r\n${head.join("\r\n")}\r\n\r\n`)
      return seen
    }),
    ({ socket }) => Effect.sync(() => socket.destroy())
  )

const until = (what: string, isSo: () => boolean) => Effect.promise(() => eventually(what, isSo))

it.scopedLive("kinds of loan share one listener, and each token is good for its own path", () =>
  Effect.gen(function* () {
    const base = yield* gatewayOf((request, response) => void response.end(`gateway ${request.url}`))
    const model = yield* lentTo(base)
    const own = yield* lend(echo())
    yield* own.open
    assert.strictEqual(new URL(model.url).port, String(own.port))
    const answered = [
      yield* ask(`${model.url}/models`, { headers: bearer(model.token) }),
      yield* ask(`${urlOf(own)}/models`, { headers: bearer(tokenOf(own)) })
    ]
    assert.deepStrictEqual(
      answered.map(({ body }) => body.toString()),
      ["gateway /v1/models", "echo /models"]
    )
    const crossed = [
      yield* ask(`${model.url}/models`, { headers: bearer(tokenOf(own)) }),
      yield* ask(`${urlOf(own)}/models`, { headers: bearer(model.token) })
    ]
    assert.deepStrictEqual(
      crossed.map(({ status }) => status),
      [401, 401]
    )
  }).pipe(Effect.provide(services))
)

it.scopedLive("a wrong path, a wrong token and the token of a closed loan get one and the same answer", () =>
  Effect.gen(function* () {
    const own = yield* lend({ answer: (_request, response) => void response.end() })
    const open = yield* lend(echo())
    yield* open.open
    const wrong = bearer(tokenOf(own).replace(/^./, (first) => (first === "A" ? "B" : "A")))
    const none = `http://127.0.0.1:${own.port}`
    const answers = [
      yield* ask(urlOf(own), { headers: bearer(tokenOf(own)) }),
      yield* ask(urlOf(own), { headers: wrong }),
      yield* ask(urlOf(open), { headers: wrong }),
      yield* ask(urlOf(open)),
      yield* ask(urlOf(open), { headers: bearer("") }),
      yield* ask(urlOf(open), { headers: { ...bearer(tokenOf(open)), "x-api-key": "another" } }),
      yield* ask(`${urlOf(open)}?key=${tokenOf(open)}`),
      yield* ask(`${none}/`, { headers: bearer(tokenOf(open)) }),
      yield* ask(`${none}/0123456789abcdef01234567`, { headers: bearer(tokenOf(open)) }),
      yield* ask(`${none}/__proto__`, { headers: bearer(tokenOf(open)) }),
      yield* ask(`${none}/${own.path.slice(1)}00`, { headers: bearer(tokenOf(own)) })
    ].map(withoutDate)
    for (const answer of answers) assert.deepStrictEqual(answer, answers[0])
    assert.strictEqual(answers[0]?.status, 401)
    assert.notProperty(answers[0]?.headers, "www-authenticate")
    assert.strictEqual((yield* ask(urlOf(open), { headers: bearer(tokenOf(open)) })).status, 200)
  }).pipe(Effect.provide(services))
)

it.scopedLive("a kind may answer between turns itself, to the right token only", () =>
  Effect.gen(function* () {
    const own = yield* lend(echo())
    const said = Effect.map(ask(urlOf(own), { headers: bearer(tokenOf(own)) }), ({ body }) => body.toString())
    assert.strictEqual(yield* said, "No turn of yours runs.")
    assert.strictEqual(yield* Effect.scoped(Effect.zipRight(own.open, said)), "echo ")
    assert.strictEqual(yield* said, "No turn of yours runs.")
    assert.strictEqual(errorOf(yield* ask(urlOf(own), { headers: bearer("x") })).type, "authentication_error")
  }).pipe(Effect.provide(services))
)

it.scopedLive(
  "64 calls are held at once, and the end of the turn breaks them all off once their kind has heard of it",
  () =>
    Effect.gen(function* () {
      const told: Array<string> = []
      const own = yield* lend(echo(told))
      const turn = yield* Scope.make()
      yield* Scope.extend(own.open, turn)
      let heard = 0
      let lost = 0
      const calls = Array.from({ length: 64 }, () =>
        http
          .get(`${urlOf(own)}/stream`, { headers: bearer(tokenOf(own)), agent: false }, (answer) => {
            answer.once("data", () => heard++).once("error", () => lost++)
          })
          .on("error", () => undefined)
      )
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          for (const call of calls) call.destroy()
        })
      )
      yield* until("every call has the beginning of its answer", () => heard === 64)
      assert.strictEqual(told.filter((each) => each === "open").length, 64)
      yield* Scope.close(turn, Exit.void)
      yield* until("every call is broken off", () => lost === 64)
      assert.deepStrictEqual(told.slice(64), ["closing", ...Array.from({ length: 64 }, () => "broken off")])
    }).pipe(Effect.provide(services))
)

it.scopedLive("a kind may take over connections, which end with the turn, and other kinds refuse them as before", () =>
  Effect.gen(function* () {
    const base = yield* gatewayOf((_request, response) => void response.end())
    const model = yield* lentTo(base)
    const gateway = { path: new URL(model.url).pathname, port: Number(new URL(model.url).port) }
    const refusals = Effect.gen(function* () {
      const right = yield* upgraded(gateway, model.token)
      const wrong = yield* upgraded(gateway, "x")
      yield* until("both are refused", () => /\}\}$/.test(right.text) && /\}\}$/.test(wrong.text))
      return [right, wrong].map(({ text }) => [text.slice(9, 12), text.slice(text.indexOf("\r\n\r\n") + 4)])
    })
    const before = yield* refusals
    assert.deepStrictEqual(
      before.map(([status]) => status),
      ["400", "401"]
    )
    const own = yield* lend(echo())
    const turn = yield* Scope.make()
    yield* Scope.extend(own.open, turn)
    assert.deepStrictEqual(yield* refusals, before)
    const live = yield* upgraded(own, tokenOf(own))
    const foreign = yield* upgraded(own, model.token)
    yield* until("the connection is taken over", () => live.text.includes("101"))
    yield* until("the wrong token is refused", () => foreign.isClosed)
    assert.strictEqual(foreign.text.slice(9, 12), "401")
    live.socket.write("hello")
    yield* until("bytes go both ways", () => live.text.endsWith("hello"))
    yield* Scope.close(turn, Exit.void)
    yield* until("the connection has ended", () => live.isClosed)
    const late = yield* upgraded(own, tokenOf(own))
    yield* until("a later one gets the answer of a closed loan", () => late.text.includes("No turn of yours runs."))
  }).pipe(Effect.provide(services))
)

it.scopedLive("the listener ends with its layer, with connections that were taken over", () =>
  Effect.gen(function* () {
    const { live, port } = yield* Effect.gen(function* () {
      const own = yield* lend(echo())
      yield* own.open
      const live = yield* upgraded(own, tokenOf(own))
      yield* until("the connection is taken over", () => live.text.includes("101"))
      return { live, port: own.port }
    }).pipe(Effect.provide(services))
    yield* until("the connection has ended", () => live.isClosed)
    assert.include((yield* Effect.flip(ask(`http://127.0.0.1:${port}/`))).message, "ECONNREFUSED")
  })
)
