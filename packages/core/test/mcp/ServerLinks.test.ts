import { assert, describe, it } from "@effect/vitest"
import { createMcpHandler, Server } from "@modelcontextprotocol/server"
import { blankSecrets } from "@reins/core/mcp/BlankSecrets"
import { Outbound } from "@reins/machine/outbound/Outbound"
import { localServer } from "@reins/testing/connections/LocalServer"
import { type Manner, mcpServer } from "@reins/testing/mcp/McpServer"
import { eventually } from "@reins/testing/process/Waiting"
import { Effect, Fiber, Redacted } from "effect"
import { callOf, key, links, openOf } from "./Links.js"

describe("a server of tools", () => {
  it.scopedLive("of 2025 is asked in a session, which ends with the link, and none of its words hold the key", () =>
    Effect.gen(function* () {
      const server = yield* mcpServer(key)
      const { answer, link, tool } = yield* callOf(server.url)
      assert.match(link.protocol, /^2025/)
      assert.strictEqual(tool.description, "Gets an issue. [secret]")
      assert.isTrue(tool.is_read_only)
      assert.deepStrictEqual(server.calls, [{ tool: "get_issue", input: { number: 7 } }])
      assert.include(answer.text, 'Issue {"number":7} [secret]')
      assert.lengthOf(answer.images, 1)
      assert.include(answer.text, "1 pictures are left out")
      const said = JSON.stringify([answer, tool])
      for (const form of [key, encodeURIComponent(key), Buffer.from(key).toString("base64")])
        assert.notInclude(said, form)
      assert.strictEqual(server.sessions.size, 0)
    })
  )

  it.scopedLive("of 2026 is asked without a session", () =>
    Effect.gen(function* () {
      const handler = createMcpHandler(() => {
        const server = new Server({ name: "lab", version: "1" }, { capabilities: { tools: {} } })
        server.setRequestHandler("tools/list", () => ({
          tools: [{ name: "get_issue", description: "Gets.", inputSchema: { type: "object" as const } }]
        }))
        server.setRequestHandler("tools/call", ({ params }) => ({
          content: [{ type: "text", text: JSON.stringify(params.arguments) }]
        }))
        return server
      })
      const { asked, url } = yield* localServer((request, response) => {
        const headers = new Headers()
        for (const [name, value] of Object.entries(request.headers))
          if (typeof value === "string") headers.set(name, value)
        const init = { method: request.method, headers, ...(request.method === "POST" && { body: request.body }) }
        void handler.fetch(new Request(`http://127.0.0.1${request.path}`, init)).then(async (answer) => {
          response.writeHead(answer.status, Object.fromEntries(answer.headers))
          response.end(Buffer.from(await answer.arrayBuffer()))
        })
      })
      const { answer, link } = yield* callOf(`${url}/mcp`)
      assert.match(link.protocol, /^2026/)
      assert.strictEqual(answer.text, '{"number":7}')
      assert.isTrue(asked.every(({ headers }) => headers["mcp-session-id"] === undefined))
      assert.isTrue(asked.every(({ headers }) => headers.authorization === `Bearer ${key}`))
    })
  )

  const hostile: ReadonlyArray<readonly [Manner, RegExp, boolean]> = [
    ["redirect", /redirect \(307\), which is not followed/, false],
    ["large", /more than 4194304 bytes/, true],
    ["endless", /more than 4194304 bytes/, true],
    ["trickle", /did not answer within 1.5 seconds/, true],
    ["drop", /./, true],
    ["cut", /broke off its answer/, true],
    ["forgetful", /./, false],
    ["refusing", /No\. \[secret\]/, false],
    ["garbled", /./, true],
    ["crowded", /more than 512 tools/, false],
    ["paging", /more than 20 pages/, false]
  ]
  for (const [manner, words, mayHaveHappened] of hostile)
    it.scopedLive(`that is ${manner} is told of in words without the key, and is asked once`, () =>
      Effect.gen(function* () {
        const server = yield* mcpServer(key)
        const elsewhere = yield* localServer((_, response) => void response.end("{}"))
        server.elsewhere = `${elsewhere.url}/mcp`
        server.manner = manner
        const failure = yield* Effect.flip(callOf(server.url))
        assert.match(failure.message, words)
        assert.notInclude(failure.message, key)
        assert.strictEqual(failure.mayHaveHappened, mayHaveHappened, failure.message)
        assert.isAtMost(server.calls.length, 1)
        assert.lengthOf(elsewhere.asked, 0)
      })
    )

  it.scopedLive("that says its key in any kind of block is told of without it", () =>
    Effect.gen(function* () {
      const odd = 'canary"Zq8rT2vX5nB7\\mK1p+'
      const blob = Buffer.from(`xx${odd}yy`).toString("base64")
      const resource = (more: object) => ({ type: "resource", resource: { uri: `file:///${odd}`, ...more } })
      const blocks: ReadonlyArray<object> = [
        { content: [], structuredContent: { [odd]: { deep: [odd, encodeURIComponent(odd)] } } },
        { content: [resource({ text: `Read ${odd}.` })] },
        { content: [resource({ blob, mimeType: "image/png" })] },
        { content: [resource({ blob, mimeType: `application/${odd}` })] },
        { content: [{ type: "resource_link", name: odd, uri: `https://lab.example/${encodeURIComponent(odd)}` }] },
        { content: [{ type: "image", data: blob, mimeType: `image/png;${odd}` }] },
        { content: [{ type: "text", text: Buffer.from(odd).toString("hex") }], isError: true }
      ]
      const server = yield* mcpServer(odd)
      const open = {
        ...openOf(server.url),
        headers: { Authorization: Redacted.make(`Bearer ${odd}`) },
        blank: blankSecrets([Redacted.make(odd)])
      }
      const forms = [odd, JSON.stringify(odd).slice(1, -1), encodeURIComponent(odd), blob]
      const encoded = [Buffer.from(odd).toString("base64"), Buffer.from(odd).toString("hex")]
      const link = yield* (yield* links()).connect(open)
      const {
        tools: [tool]
      } = yield* link.list
      if (tool === undefined) return yield* Effect.dieMessage("there is no tool")
      for (const result of blocks) {
        server.result = result
        const { images, text } = yield* link.call(tool, {})
        assert.include(text, "[secret]", JSON.stringify(result))
        assert.deepStrictEqual(images, [])
        for (const form of [...forms, ...encoded]) assert.notInclude(text, form, JSON.stringify(result))
      }
    })
  )

  it.scopedLive("with a wrong key is told of without the key", () =>
    Effect.gen(function* () {
      const server = yield* mcpServer("another")
      const failure = yield* Effect.flip(callOf(server.url))
      assert.notInclude(failure.message, key)
      assert.isFalse(failure.mayHaveHappened)
    })
  )

  it.scopedLive("is not asked at a private address, nor where its name leads to one in the meantime", () =>
    Effect.gen(function* () {
      const server = yield* mcpServer(key)
      const closed = Outbound.layerWith({ allowPrivateHosts: [] })
      const failure = yield* Effect.flip(callOf(server.url, closed))
      assert.include(failure.message, "REINS_ALLOW_PRIVATE_HOSTS")
      let looked = 0
      const moving = Outbound.layerWith({
        allowPrivateHosts: [],
        lookup: (_, options, found) => {
          looked += 1
          const address = looked % 2 === 1 ? "127.0.0.1" : "10.0.0.1"
          if (options.all === true) found(null, [{ address, family: 4 }])
          else found(null, address, 4)
        }
      })
      const refused = yield* Effect.flip(callOf(`https://moving.example:${server.port}/mcp`, moving))
      assert.include(refused.message, "is not on the public Internet")
      assert.isAtLeast(looked, 1)
      assert.lengthOf(server.asked, 0)
    })
  )

  it.scopedLive("hears that nobody waits for a call any more", () =>
    Effect.gen(function* () {
      const server = yield* mcpServer(key)
      server.manner = "trickle"
      const calling = yield* Effect.fork(callOf(server.url))
      yield* Effect.promise(() => eventually("a call", () => server.calls.length === 1))
      yield* Fiber.interrupt(calling)
      const isTold = () => server.asked.some(({ body }) => body.includes("notifications/cancelled"))
      yield* Effect.promise(() => eventually("the word of it", isTold))
    })
  )
})
