import type { RequestListener, ServerResponse } from "node:http"
import { gzipSync } from "node:zlib"
import { assert, it } from "@effect/vitest"
import type { CallObserver, CallOutcome, CallRefusal, ModelCall } from "@reins/machine/relay/gateway/ModelCall"
import { countedCalls } from "@reins/testing/Volume"
import { Deferred, Effect, Exit, Fiber, FiberId, Scope } from "effect"
import { ask, bearer, errorOf, gatewayOf, key, lentTo, services, servicesWith } from "./Loans.js"

/** Keeps what it is told, and completes each time that a call has ended. */
const watching = (refuse?: () => CallRefusal | undefined) => {
  const calls: Array<ModelCall> = []
  let next = Deferred.unsafeMake<ModelCall>(FiberId.none)
  const observer: CallObserver = {
    refusal: () => refuse?.(),
    ended: (call) => {
      calls.push(call)
      Deferred.unsafeDone(next, Effect.succeed(call))
    }
  }
  const ended = Effect.suspend(() => {
    next = Deferred.unsafeMake<ModelCall>(FiberId.none)
    return Deferred.await(next)
  })
  return { calls, observer, ended }
}

const json = (response: ServerResponse, value: unknown) => {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value))
}

/** A small deterministic source of numbers. */
const numbers = (seed: number) => {
  let state = seed
  return (below: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return state % below
  }
}

interface Tokens {
  readonly input: number
  readonly cached: number
  readonly output: number
  readonly reasoning: number
}

const openai = ({ cached, input, output, reasoning }: Tokens) => ({
  prompt_tokens: input,
  completion_tokens: output,
  prompt_tokens_details: { cached_tokens: cached },
  completion_tokens_details: { reasoning_tokens: reasoning }
})
const named = ({ cached, input, output, reasoning }: Tokens) => ({
  input_tokens: input,
  output_tokens: output,
  input_tokens_details: { cached_tokens: cached },
  output_tokens_details: { reasoning_tokens: reasoning }
})
const anthropic = ({ cached, input, output }: Tokens) => ({
  input_tokens: input - cached,
  cache_read_input_tokens: cached,
  cache_creation_input_tokens: 0,
  output_tokens: output
})

/** The answers of a gateway by the paths of three protocols: whole, and as events. */
const spoken: Readonly<Record<string, (tokens: Tokens) => { whole: unknown; events: ReadonlyArray<unknown> }>> = {
  "/v1/chat/completions": (tokens) => ({
    whole: { choices: [{ finish_reason: "stop" }], usage: openai(tokens) },
    events: [
      { choices: [{ delta: { content: "Words" }, finish_reason: "stop" }] },
      { choices: [], usage: openai(tokens) }
    ]
  }),
  "/v1/responses": (tokens) => ({
    whole: { output: [], usage: named(tokens) },
    events: [
      { type: "response.created", response: { usage: null } },
      { type: "response.completed", response: { output: [], usage: named(tokens) } }
    ]
  }),
  "/v1/messages": (tokens) => ({
    whole: { content: [], usage: anthropic(tokens) },
    events: [
      { type: "message_start", message: { usage: { ...anthropic(tokens), output_tokens: 1 } } },
      { type: "message_delta", usage: { output_tokens: tokens.output } },
      { type: "message_stop" }
    ]
  })
}

it.scopedLive(`the usage of ${countedCalls} calls over three protocols is what the gateway said, to the token`, () =>
  Effect.gen(function* () {
    const random = numbers(7)
    const said = { input: 0, cached: 0, output: 0, reasoning: 0 }
    const base = yield* gatewayOf((request, response) => {
      const input = random(100_000)
      const tokens = { input, cached: random(input + 1), output: random(5000), reasoning: random(1000) }
      const path = request.url ?? ""
      const answer = spoken[path]?.(tokens) ?? assert.fail(path)
      said.input += tokens.input
      said.cached += tokens.cached
      said.output += tokens.output
      if (path !== "/v1/messages") said.reasoning += tokens.reasoning
      if (random(2) === 0) return json(response, answer.whole)
      const text = answer.events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")
      const middle = random(text.length)
      response.writeHead(200, { "content-type": "text/event-stream" })
      response.write(text.slice(0, middle), () => response.end(text.slice(middle)))
    })
    const { calls, observer } = watching()
    const { token, url } = yield* lentTo(base, undefined, observer)
    const paths = Object.keys(spoken).map((path) => path.slice("/v1".length))
    yield* Effect.forEach(
      Array.from({ length: countedCalls }, (_, index) => index),
      (index) =>
        ask(`${url}${paths[index % 3]}`, {
          method: "POST",
          headers: bearer(token),
          body: JSON.stringify({ model: `m${index % 2}`, tools: index % 5 === 0 ? [] : [{ name: "t" }] })
        }),
      { concurrency: 20, discard: true }
    )
    assert.lengthOf(calls, countedCalls)
    const sum = (figure: keyof Tokens) => calls.reduce((total, call) => total + (call.usage?.[figure] ?? 0), 0)
    assert.deepStrictEqual(
      { input: sum("input"), cached: sum("cached"), output: sum("output"), reasoning: sum("reasoning") },
      said
    )
    assert.isTrue(calls.every(({ outcome, status }) => outcome === "answered" && status === 200))
    assert.lengthOf(
      calls.filter(({ model }) => model === "m0"),
      countedCalls / 2
    )
    assert.lengthOf(
      calls.filter(({ hasTools }) => hasTools === false),
      countedCalls / 5
    )
  }).pipe(Effect.provide(services))
)

const chat = { choices: [{ finish_reason: "stop" }], usage: { prompt_tokens: 3, completion_tokens: 2 } }
const event = `data: ${JSON.stringify({ choices: [{ delta: { content: "Words" }, finish_reason: null }] })}\n\n`

const ends: ReadonlyArray<{
  readonly name: string
  readonly gateway: RequestListener
  readonly outcome: CallOutcome
  readonly status: number | null
  readonly words?: string | null
}> = [
  { name: "answered", gateway: (_, response) => json(response, chat), outcome: "answered", status: 200 },
  {
    name: "answered in a compressed form",
    gateway: (_, response) => {
      response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(JSON.stringify(chat)))
    },
    outcome: "answered",
    status: 200
  },
  {
    name: "refused in words that hold the key",
    gateway: (_, response) => {
      response.writeHead(401).end(JSON.stringify({ error: { message: `Incorrect key: ${key}.` } }))
    },
    outcome: "refused",
    status: 401,
    words: "Incorrect key: [secret]."
  },
  {
    name: "refused with a page",
    gateway: (_, response) => void response.writeHead(503).end(`<html>${"x".repeat(100_000)}</html>`),
    outcome: "refused",
    status: 503,
    words: null
  },
  {
    name: "refused within the stream",
    gateway: (_, response) => void response.end(`${event}data: {"error":{"code":429,"message":"Slow down."}}\n\n`),
    outcome: "refused",
    status: 429,
    words: "Slow down."
  },
  {
    name: "dropped in the middle",
    gateway: (_, response) => void response.write(event, () => setImmediate(() => response.socket?.resetAndDestroy())),
    outcome: "broken_off",
    status: 200
  },
  {
    name: "ended in the middle",
    gateway: (_, response) => void response.end(event),
    outcome: "broken_off",
    status: 200
  },
  { name: "answered with nothing", gateway: (_, response) => void response.end(), outcome: "garbled", status: 200 },
  {
    name: "answered with a page",
    gateway: (_, response) => void response.end("<html></html>"),
    outcome: "garbled",
    status: 200
  },
  {
    name: "closed before the answer",
    gateway: (request) => void request.socket.destroy(),
    outcome: "unreachable",
    status: 502
  },
  {
    name: "redirected",
    gateway: (_, response) => void response.writeHead(302, { location: "/elsewhere" }).end(),
    outcome: "unreachable",
    status: 502
  }
]

it.scopedLive("a call is told of with its end, as the gateway made it", () =>
  Effect.gen(function* () {
    let answerNext: RequestListener = () => assert.fail("no answer")
    const base = yield* gatewayOf((request, response) => answerNext(request, response))
    const { ended, observer } = watching()
    const { token, url } = yield* lentTo(base, undefined, observer)
    for (const { gateway, name, outcome, status, words } of ends) {
      answerNext = gateway
      const told = yield* Effect.fork(ended)
      yield* Effect.yieldNow()
      yield* Effect.ignore(
        ask(`${url}/chat/completions`, { method: "POST", headers: bearer(token), body: '{"model":"m","tools":[{}]}' })
      )
      const call = yield* told
      assert.deepInclude(call, { protocol: "openai_chat", model: "m", hasTools: true, outcome, status }, name)
      if (words !== undefined) assert.strictEqual(call.words, words, name)
      assert.deepStrictEqual(call.usage?.input, outcome === "answered" ? 3 : undefined, name)
      assert.isAtLeast(call.endedAt, call.startedAt)
    }
  }).pipe(Effect.provide(services))
)

it.scopedLive(
  "a call that the agent gives up is no failure of the gateway, and ends before its loan at the latest",
  () =>
    Effect.gen(function* () {
      const base = yield* gatewayOf((_, response) => void response.write(event))
      const { calls, ended, observer } = watching()
      const scope = yield* Scope.make()
      const { token, url } = yield* Scope.extend(lentTo(base, undefined, observer), scope)
      const begin = Effect.gen(function* () {
        const begun = yield* Deferred.make<void>()
        const onChunk = () => Deferred.unsafeDone(begun, Effect.void)
        const call = ask(`${url}/chat/completions`, { method: "POST", headers: bearer(token), body: "{}", onChunk })
        const running = yield* Effect.fork(Effect.exit(call))
        yield* Deferred.await(begun)
        return running
      })
      const first = yield* begin
      const told = yield* Effect.fork(ended)
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(first)
      assert.deepInclude(yield* told, { outcome: "abandoned", status: 200, model: null, hasTools: false, usage: null })
      yield* begin
      assert.lengthOf(calls, 1)
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(
        calls.map(({ outcome }) => outcome),
        ["abandoned", "abandoned"]
      )
    }).pipe(Effect.provide(services))
)

it.scopedLive("a call that an agent reads to its mark and no further is answered", () =>
  Effect.gen(function* () {
    const text = `data: ${JSON.stringify(chat)}\n\ndata: [DONE]\n\n`
    const base = yield* gatewayOf((_, response) => void response.write(text))
    const { calls, observer } = watching()
    const scope = yield* Scope.make()
    const { token, url } = yield* Scope.extend(lentTo(base, undefined, observer), scope)
    const read = yield* Deferred.make<void>()
    yield* Effect.fork(
      Effect.exit(
        ask(`${url}/chat/completions`, {
          method: "POST",
          headers: bearer(token),
          onChunk: () => Deferred.unsafeDone(read, Effect.void)
        })
      )
    )
    yield* Deferred.await(read)
    yield* Scope.close(scope, Exit.void)
    assert.deepInclude(calls[0], { outcome: "answered", status: 200 })
    assert.strictEqual(calls[0]?.usage?.output, 2)
  }).pipe(Effect.provide(services))
)

it.scopedLive("requests that ask no model are not told of", () =>
  Effect.gen(function* () {
    const base = yield* gatewayOf((_, response) => json(response, chat))
    const { calls, observer } = watching()
    const { token, url } = yield* lentTo(base, undefined, observer)
    for (const [method, path] of [
      ["GET", "/models"],
      ["GET", "/responses"],
      ["POST", "/messages/count_tokens"],
      ["POST", "/embeddings"]
    ] as const)
      yield* ask(`${url}${path}`, { method, headers: bearer(token) })
    assert.isEmpty(calls)
    const gemini = "/models/gemini-2.5-pro:streamGenerateContent?alt=sse"
    yield* ask(`${url}${gemini}`, { method: "POST", headers: bearer(token), body: '{"contents":[]}' })
    assert.deepInclude(calls[0], { protocol: "gemini", model: "gemini-2.5-pro", outcome: "garbled" })
  }).pipe(Effect.provide(services))
)

it.scopedLive("a call that the observer refuses does not leave", () =>
  Effect.gen(function* () {
    let asked = 0
    const base = yield* gatewayOf((_, response) => {
      asked++
      json(response, chat)
    })
    const refusal = { status: 402, type: "budget", message: "Enough." }
    const { calls, observer } = watching(() => refusal)
    const { token, url } = yield* lentTo(base, undefined, observer)
    const answer = yield* ask(`${url}/responses`, { method: "POST", headers: bearer(token), body: "{}" })
    assert.deepStrictEqual([answer.status, errorOf(answer)], [402, { type: "budget", message: "Enough." }])
    assert.strictEqual((yield* ask(`${url}/models`, { headers: bearer(token) })).status, 200)
    assert.deepStrictEqual([asked, calls.length], [1, 0])
  }).pipe(Effect.provide(services))
)

it.scopedLive("a gateway that the operator has not allowed is told of with how it is allowed", () =>
  Effect.gen(function* () {
    const base = yield* gatewayOf((_, response) => json(response, chat))
    const { calls, observer } = watching()
    const { token, url } = yield* lentTo(base, undefined, observer)
    assert.strictEqual(
      (yield* ask(`${url}/messages`, { method: "POST", headers: bearer(token), body: "{}" })).status,
      400
    )
    assert.deepInclude(calls[0], { outcome: "unreachable", status: 400 })
    assert.include(calls[0]?.words, "REINS_ALLOW_PRIVATE_HOSTS")
  }).pipe(Effect.provide(servicesWith([])))
)
