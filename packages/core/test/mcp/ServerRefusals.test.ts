import { assert, describe, it } from "@effect/vitest"
import { blankSecrets } from "@reins/core/mcp/BlankSecrets"
import type { ServerFailed } from "@reins/core/mcp/ServerFailed"
import { json, localServer } from "@reins/testing/connections/LocalServer"
import { type McpRefusal, mcpServer } from "@reins/testing/mcp/McpServer"
import { Effect } from "effect"
import { callOf, key, links, openOf } from "./Links.js"

const words = (message: string) => JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32000, message } })

interface Told {
  readonly says: RegExp
  /** The state of the server in a check. */
  readonly state: "auth_required" | "unusable" | "unreachable"
  /** True where the call may have been done. */
  readonly isUnknown?: boolean
}

/** Refusals of a call, and what is told of each. */
const refusals: ReadonlyArray<readonly [what: string, refusal: McpRefusal, told: Told]> = [
  [
    "asks for a key",
    { status: 401, headers: { "www-authenticate": "Bearer" } },
    { says: /key.*\(401\)/, state: "auth_required" }
  ],
  [
    "refuses a scope",
    { status: 403, headers: { "www-authenticate": 'Bearer error="insufficient_scope", scope="x:write"' } },
    { says: /scopes.*x:write/, state: "auth_required" }
  ],
  [
    "refuses access",
    { status: 403, body: words("Not yours.") },
    { says: /access \(403\).* It says: Not yours\.$/, state: "unusable" }
  ],
  [
    "knows nothing there",
    { status: 404, body: "<html><title>Nothing here</title></html>" },
    { says: /\(404\).* It says: Nothing here$/, state: "unusable" }
  ],
  ["takes no POST", { status: 405, headers: { allow: "GET" } }, { says: /older transport/, state: "unusable" }],
  ["is gone", { status: 410 }, { says: /for good \(410\)/, state: "unusable" }],
  ["takes no such length", { status: 413 }, { says: /too long.*\(413\)/, state: "unusable" }],
  [
    "does not understand",
    { status: 422, body: '{"detail":"Bad input"}' },
    { says: /\(422\)\. It says: Bad input$/, state: "unusable" }
  ],
  [
    "has too many requests for an hour",
    { status: 429, headers: { "retry-after": "3600" } },
    { says: /\(429\).* 3600 seconds/, state: "unusable" }
  ],
  [
    "is away for an hour",
    { status: 503, headers: { "retry-after": "3600" }, body: "Down" },
    { says: /\(503\).* 3600 seconds\. It says: Down$/, state: "unusable" }
  ],
  ["is away for no told time", { status: 503 }, { says: /\(503\)/, state: "unusable", isUnknown: true }],
  [
    "has a fault",
    { status: 500, body: `<html>${"x".repeat(100_000)}` },
    { says: /^It has failed \(500\)\.$/, state: "unusable", isUnknown: true }
  ],
  [
    "has a gateway that hears nothing",
    { status: 502 },
    { says: /gateway.*\(502\)/, state: "unusable", isUnknown: true }
  ],
  ["has a status of tomorrow", { status: 599 }, { says: /\(599\)/, state: "unusable", isUnknown: true }],
  [
    "leads elsewhere",
    { status: 307, headers: { location: "http://127.0.0.1:9/x?token=1" } },
    { says: /redirect \(307\).* http:\/\/127\.0\.0\.1:9\/x\.$/, state: "unreachable", isUnknown: true }
  ],
  [
    "leads a POST to another method",
    { status: 302, headers: { location: "/login" } },
    { says: /redirect \(302\).*\/login/, state: "unreachable", isUnknown: true }
  ],
  ["leads nowhere", { status: 308 }, { says: /redirect \(308\)/, state: "unreachable", isUnknown: true }],
  [
    "answers with a page",
    { status: 200, headers: { "content-type": "text/html" }, body: "<html><title>Sign in</title>" },
    { says: /a page \("Sign in"\)/, state: "unusable", isUnknown: true }
  ],
  [
    "answers with nothing",
    { status: 200, headers: { "content-type": "application/json" } },
    { says: /nothing \(200\)/, state: "unusable", isUnknown: true }
  ],
  ["answers with no content", { status: 204 }, { says: /nothing \(204\)/, state: "unusable", isUnknown: true }],
  ["takes a request as a notice", { status: 202 }, { says: /nothing \(202\)/, state: "unusable", isUnknown: true }],
  [
    "answers with no message",
    { status: 200, body: '{"errors":[{"type":"FORBIDDEN"}]}' },
    { says: /no message of the protocol/, state: "unusable", isUnknown: true }
  ],
  [
    "answers with null",
    { status: 200, body: "null" },
    { says: /no message of the protocol/, state: "unusable", isUnknown: true }
  ],
  [
    "answers with an error of the protocol",
    { status: 200, body: '{"id":null,"error":{"code":-32602,"message":"Bad."}}' },
    { says: /^It answers with an error \(-32602\): Bad\.$/, state: "unusable" }
  ],
  [
    "answers with an error without words",
    { status: 200, body: '{"error":{}}' },
    { says: /^It answers with an error/, state: "unusable" }
  ]
]

const stateOf = ({ hasAnswered, needsAuthorization }: ServerFailed) =>
  needsAuthorization === true ? "auth_required" : hasAnswered === true ? "unusable" : "unreachable"

describe("a server of tools that refuses", () => {
  for (const [what, refusal, { isUnknown = false, says, state }] of refusals)
    it.scopedLive(`and ${what} is told of in a sentence`, () =>
      Effect.gen(function* () {
        const server = yield* mcpServer(key)
        server.refusals.push({ ...refusal, method: "tools/call", times: 9 })
        const failure = yield* Effect.flip(callOf(server.url))
        assert.match(failure.message, says)
        assert.isAtMost(failure.message.length, 600)
        assert.notMatch(failure.message, /ZodError|"code":|\[object|undefined|\n/)
        assert.deepStrictEqual([stateOf(failure), failure.mayHaveHappened], [state, isUnknown], failure.message)
        server.refusals.splice(0, 1, { ...refusal, method: "tools/list", times: 9 })
        const unlisted = yield* Effect.flip(callOf(server.url))
        assert.deepStrictEqual([stateOf(unlisted), unlisted.mayHaveHappened], [state, false], unlisted.message)
      })
    )

  it.scopedLive("where nobody answers is unreachable, and says so with the code", () =>
    Effect.gen(function* () {
      const { url } = yield* Effect.scoped(mcpServer(key))
      const failure = yield* Effect.flip(callOf(url))
      assert.strictEqual(stateOf(failure), "unreachable")
      assert.strictEqual(failure.message, "Nobody answers at its address (ECONNREFUSED).")
    })
  )

  it.scopedLive("and wants a pause that is short is asked again, and the call is done once", () =>
    Effect.gen(function* () {
      for (const status of [429, 503])
        for (const method of ["initialize", "tools/list", "tools/call"]) {
          const server = yield* mcpServer(key)
          server.refusals.push({ status, headers: { "retry-after": "0" }, method, times: 2 })
          yield* callOf(server.url)
          assert.lengthOf(server.calls, 1, `${status} at ${method}`)
        }
    })
  )

  it.scopedLive("and has forgotten the session is asked once more, in a new one", () =>
    Effect.gen(function* () {
      const gone: ReadonlyArray<McpRefusal> = [
        { status: 404, body: words("Session not found") },
        { status: 404 },
        { status: 400, body: words("Bad Request: No valid session ID provided") },
        { status: 200, body: '{"error":{"code":-32001,"message":"Session expired"}}' }
      ]
      for (const refusal of gone)
        for (const method of ["tools/list", "tools/call"]) {
          const server = yield* mcpServer(key)
          server.refusals.push({ ...refusal, method, times: 1 })
          yield* callOf(server.url)
          assert.lengthOf(server.calls, 1, `${refusal.body} at ${method}`)
          assert.strictEqual(server.asked.filter(({ body }) => body.includes('"initialize"')).length, 2)
        }
    })
  )

  it.scopedLive("to be asked which versions it speaks is asked in the protocol of 2025", () =>
    Effect.gen(function* () {
      for (const refusal of [
        { status: 500 },
        { status: 200 },
        { status: 200, body: "<p>" },
        { status: 202 },
        { status: 501 }
      ]) {
        const server = yield* mcpServer(key)
        server.refusals.push({ ...refusal, method: "server/discover", times: 9 })
        const { link } = yield* callOf(server.url)
        assert.strictEqual(link.protocol, "2025-11-25", JSON.stringify(refusal))
      }
    })
  )

  it.scopedLive("its old address is asked at the new one of the same origin, with the key and once", () =>
    Effect.gen(function* () {
      const server = yield* mcpServer(key)
      for (const status of [307, 308]) {
        server.calls.splice(0)
        server.refusals.push({ status, headers: { location: "/mcp" }, times: 1, method: "tools/call" })
        yield* callOf(server.url)
        assert.lengthOf(server.calls, 1)
      }
      server.refusals.push({ status: 307, headers: { location: server.url }, times: 99 })
      const failure = yield* Effect.flip(callOf(server.url))
      assert.match(failure.message, /redirect \(307\)/)
    })
  )
})

describe("a server of tools that answers in a way of its own", () => {
  const answers: ReadonlyArray<
    readonly [what: string, headers: Record<string, string>, wrap: (text: string) => string]
  > = [
    ["without a type", {}, (text) => text],
    ["as text", { "content-type": "text/plain" }, (text) => text],
    ["with a character set", { "content-type": "application/json; charset=UTF-8" }, (text) => text],
    ["with a byte order mark", { "content-type": "application/json" }, (text) => `\ufeff${text}`],
    ["with spaces around", { "content-type": "application/json" }, (text) => `\r\n ${text}\n`],
    ["as a list of one", { "content-type": "application/json" }, (text) => `[${text}]`],
    [
      "with an error that is null",
      { "content-type": "application/json" },
      (text) => text.replace('"jsonrpc"', '"error":null,"jsonrpc"')
    ],
    [
      "with its number as a text",
      { "content-type": "application/json" },
      (text) => text.replace(/"id":(\d+)/, '"id":"$1"')
    ],
    ["without a number", { "content-type": "application/json" }, (text) => text.replace(/"id":\d+/, '"id":null')],
    ["as events without a type", {}, (text) => `event: message\ndata: ${text}\n\n`],
    [
      "as events",
      { "content-type": "text/event-stream; charset=utf-8" },
      (text) => `: hello\n\nid: 1\ndata: ${text}\n\n`
    ]
  ]
  const tool = { name: "get_issue", description: "Gets.", inputSchema: { type: "object" } }
  for (const [what, headers, wrap] of answers)
    it.scopedLive(`${what} is understood`, () =>
      Effect.gen(function* () {
        const { url } = yield* localServer(({ body, method }, response) => {
          if (method !== "POST") return response.writeHead(405).end()
          const { id, method: rpc } = JSON.parse(body)
          if (id === undefined) return response.writeHead(200, { "content-type": "text/html" }).end("<p>Thanks.")
          const about = { protocolVersion: "2025-06-18", capabilities: {}, serverInfo: { name: "x", version: "1" } }
          const results: Record<string, object> = {
            initialize: about,
            "tools/list": { tools: [tool, null] },
            "tools/call": { content: [{ type: "text", text: "Done." }, null] }
          }
          const result = results[rpc]
          if (result === undefined) return json(response, 200, { id, error: { code: -32601, message: "No." } })
          response.writeHead(200, headers).end(wrap(JSON.stringify({ jsonrpc: "2.0", id, result })))
        })
        const { answer } = yield* callOf(`${url}/mcp`)
        assert.strictEqual(answer.text, "Done.\n[Block 2 of the answer cannot be read.]")
      })
    )

  it.scopedLive("in either era, with streams or without, costs one tool for an odd one, and one block", () =>
    Effect.gen(function* () {
      for (const era of ["2025", "2026"] as const)
        for (const streams of [false, true]) {
          const server = yield* mcpServer(key, era)
          server.streams = streams
          server.list = { tools: [tool, { name: "odd", description: 7 }, null], nextCursor: "" }
          server.result = {
            content: [
              { type: "image", data: null },
              { type: "text", text: "Done." }
            ]
          }
          const link = yield* (yield* links()).connect(openOf(server.url))
          assert.match(link.protocol, new RegExp(`^${era}`))
          const { listed, odd, tools } = yield* link.list
          assert.deepStrictEqual(
            [listed, tools.map(({ name }) => name), odd.map(({ name }) => name)],
            [3, ["get_issue"], ["odd"]]
          )
          const [found] = tools
          if (found === undefined) return yield* Effect.dieMessage("there is no tool")
          assert.include((yield* link.call(found, {})).text, "Done.")
        }
    })
  )

  const abouts: ReadonlyArray<readonly [what: string, about: object]> = [
    ["no name of itself", { serverInfo: undefined }],
    ["a name of itself that is null", { serverInfo: null }],
    ["no version of itself", { serverInfo: { name: "x" } }],
    ["no abilities", { capabilities: undefined }],
    ["abilities that are null", { capabilities: null }],
    ["abilities in another form", { capabilities: { tools: true, resources: null, logging: [] } }],
    ["instructions that are a list", { instructions: [] }],
    ["fields of tomorrow", { later: { deep: [1] }, capabilities: { later: 1 } }]
  ]
  for (const [what, about] of abouts)
    it.scopedLive(`to the first question, with ${what}, is understood in either era`, () =>
      Effect.gen(function* () {
        for (const era of ["2025", "2026"] as const) {
          const server = yield* mcpServer(key, era)
          server.about = about
          const { link } = yield* callOf(server.url)
          assert.match(link.protocol, new RegExp(`^${era}`))
        }
      })
    )

  it.scopedLive("that speaks no version of ours is told of with the version", () =>
    Effect.gen(function* () {
      const server = yield* mcpServer(key)
      for (const protocolVersion of ["2099-01-01", "1.0"]) {
        server.about = { protocolVersion }
        const failure = yield* Effect.flip(callOf(server.url))
        assert.include(failure.message, protocolVersion)
        assert.isTrue(failure.hasAnswered)
      }
    })
  )

  it.scopedLive("a word of a refusal that is a key is blanked before it is cut", () =>
    Effect.gen(function* () {
      const server = yield* mcpServer(key)
      for (const before of [550, 580, 590, 595]) {
        server.refusals.splice(0)
        server.refusals.push({ status: 500, body: `${"x".repeat(before - 40)} ${key}`, times: 9 })
        const { message } = yield* Effect.flip(callOf(server.url))
        assert.notInclude(message, key.slice(0, 10))
      }
      assert.strictEqual(blankSecrets([]).text("x"), "x")
    })
  )
})
