import http from "node:http"
import net from "node:net"
import { assert, it } from "@effect/vitest"
import { Manifests } from "@reins/machine/harness/Manifests"
import { Outbound } from "@reins/machine/outbound/Outbound"
import { CredentialProxy } from "@reins/machine/relay/gateway/CredentialProxy"
import { type Loan, type LoanKind, Loans } from "@reins/machine/relay/Loans"
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

it.scopedLive("64 calls are answered at once, and the end of the turn breaks off also those that wait", () =>
  Effect.gen(function* () {
    const told: Array<string> = []
    const own = yield* lend(echo(told))
    const turn = yield* Scope.make()
    yield* Scope.extend(own.open, turn)
    const streams = yield* streamsOf(own, 70)
    const other = Effect.map(ask(urlOf(own), { headers: bearer("x") }), ({ status }) => status)
    yield* until("64 have the beginning of their answers", () => streams.heard.size === 64)
    assert.strictEqual(yield* other, 401, "a stranger is answered meanwhile")
    for (const each of [...streams.heard].slice(0, 3)) streams.calls[each]?.destroy()
    yield* until("three of those that waited are answered", () => streams.heard.size === 67)
    streams.calls.at(-1)?.destroy()
    yield* Scope.close(turn, Exit.void)
    yield* until("every call is broken off", () => streams.lost.size === 70)
    assert.strictEqual(told.filter((each) => each === "open").length, 67)
    assert.strictEqual(told.indexOf("closing"), 67 + 3)
  }).pipe(Effect.provide(services))
)

/** Calls of a loan that never end, with the numbers of those whose answer has begun, and of those that have ended. */
const streamsOf = (loan: Loan, count: number) =>
  Effect.gen(function* () {
    const [heard, lost] = [new Set<number>(), new Set<number>()]
    const calls = Array.from({ length: count }, (_, at) =>
      http
        .get(`${urlOf(loan)}/stream`, { headers: bearer(tokenOf(loan)), agent: false }, (answer) => {
          answer.once("data", () => heard.add(at)).on("error", () => undefined)
        })
        .on("error", () => undefined)
        .once("close", () => lost.add(at))
    )
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        for (const call of calls) call.destroy()
      })
    )
    return { calls, heard, lost }
  })

/** Opens connections to the port of a loan and writes the beginning of something. */
const beginnings = ({ port }: Loan, count: number, text: string) =>
  Effect.acquireRelease(
    Effect.sync(() =>
      Array.from({ length: count }, () => {
        const socket = net.connect(port, "127.0.0.1", () => socket.write(text))
        return socket.on("error", () => undefined).resume()
      })
    ),
    (sockets) =>
      Effect.sync(() => {
        for (const socket of sockets) socket.destroy()
      })
  )

const quick = Loans.layerWith({ headers: 1000, rest: 100 })

it.scopedLive("connections without a token make room for new ones, and end when their headers do not come", () =>
  Effect.gen(function* () {
    const own = yield* lend(echo())
    yield* own.open
    const beginning = `POST ${own.path} HTTP/1.1\r\nhost: a\r\n`
    const idle = yield* beginnings(own, 300, beginning)
    yield* until("the oldest ones are ended", () => idle.filter((each) => each.closed).length >= 300 - 256)
    assert.strictEqual((yield* ask(urlOf(own), { headers: bearer(tokenOf(own)) })).status, 200)
    yield* until("all are ended", () => idle.every((each) => each.closed))
  }).pipe(Effect.provide(quick))
)

for (const [what, token, status] of [
  ["a wrong token", "x", 401],
  ["the right token, and an answer before the body", undefined, 200]
] as const)
  it.scopedLive(`a body that never ends, with ${what}, keeps no connection`, () =>
    Effect.gen(function* () {
      const own = yield* lend(echo())
      yield* own.open
      const head = [`POST ${own.path} HTTP/1.1`, "host: a", `authorization: Bearer ${token ?? tokenOf(own)}`]
      const text = `${[...head, "content-length: 1000000"].join("\r\n")}\r\n\r\nsome`
      const [socket] = yield* beginnings(own, 1, text)
      let said = ""
      socket?.on("data", (bytes) => {
        said += String(bytes)
      })
      yield* until("the connection is ended", () => socket?.closed ?? false)
      assert.include(said, `HTTP/1.1 ${status}`)
    }).pipe(Effect.provide(quick))
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
