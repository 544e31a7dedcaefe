import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { readAnswer } from "@reins/core/mcp/ForeignAnswer"
import { readTools } from "@reins/core/mcp/ForeignTools"
import { judgeTools } from "@reins/core/mcp/JudgedTools"
import { mcpServer } from "@reins/testing/mcp/McpServer"
import { Ajv2020 } from "ajv/dist/2020.js"
import { Effect } from "effect"

const recorded = (name: string) =>
  JSON.parse(readFileSync(new URL(`../../recordings/mcp/${name}.json`, import.meta.url), "utf8"))

/** Holds values against the published definitions of a version. */
const schemaOf = (version: string) => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true })
  ajv.addSchema({ $id: "mcp", $defs: recorded(version).$defs })
  return (definition: string, value: unknown): ReadonlyArray<string> => {
    const isFit = ajv.validate({ $ref: `mcp#/$defs/${definition}` }, value)
    return isFit ? [] : (ajv.errors ?? []).map(({ instancePath, message }) => `${definition}${instancePath} ${message}`)
  }
}

const accept = "application/json, text/event-stream"

/** Asks a server as a client of the protocol does. */
const client = (url: string, more: Record<string, string> = {}) => {
  const headers: Record<string, string> = { accept, "content-type": "application/json", ...more }
  let count = 0
  return async (method: string, params: object = {}, other: Record<string, string | undefined> = {}) => {
    const sent = Object.entries({ ...headers, ...other }).filter(([, value]) => value !== undefined)
    const body = JSON.stringify({ jsonrpc: "2.0", id: ++count, method, params })
    const answer = await fetch(url, { method: "POST", headers: sent as Array<[string, string]>, body })
    const session = answer.headers.get("mcp-session-id")
    if (session !== null) headers["mcp-session-id"] = session
    const text = await answer.text()
    return { status: answer.status, headers: answer.headers, body: text === "" ? undefined : JSON.parse(text) }
  }
}

const introduction = { capabilities: {}, clientInfo: { name: "test", version: "1" } }

describe("the server of tools that the tests have", () => {
  it.scopedLive("of 2025 answers as the published schema and the words of the protocol have it", () =>
    Effect.gen(function* () {
      const misfits = schemaOf("2025-11-25")
      const server = yield* mcpServer()
      const ask = client(server.url)
      const step = (...args: Parameters<typeof ask>) => Effect.promise(() => ask(...args))
      const early = yield* step("tools/list")
      assert.strictEqual(early.status, 400)
      const opened = yield* step("initialize", { protocolVersion: "2099-01-01", ...introduction })
      assert.deepStrictEqual(misfits("InitializeResult", opened.body.result), [])
      assert.strictEqual(opened.body.result.protocolVersion, "2025-11-25")
      const listed = yield* step("tools/list")
      assert.deepStrictEqual(misfits("ListToolsResult", listed.body.result), [])
      const called = yield* step("tools/call", { name: "get_issue", arguments: {} })
      assert.deepStrictEqual(misfits("CallToolResult", called.body.result), [])
      assert.deepStrictEqual(misfits("JSONRPCResultResponse", called.body), [])
      assert.deepStrictEqual(misfits("EmptyResult", (yield* step("ping")).body.result), [])
      for (const [method, code] of [
        ["tools/call", -32602],
        ["resources/list", -32601],
        ["server/discover", -32601]
      ] as const) {
        const { body } = yield* step(method, { name: "nobody_knows" })
        assert.deepStrictEqual(misfits("JSONRPCErrorResponse", body), [])
        assert.strictEqual(body.error.code, code)
      }
      const refused = (other: Record<string, string | undefined>) =>
        Effect.map(step("tools/list", {}, other), ({ status }) => status)
      assert.strictEqual(yield* refused({ accept: "application/json" }), 406)
      assert.strictEqual(yield* refused({ "content-type": "text/plain" }), 415)
      assert.strictEqual(yield* refused({ "mcp-protocol-version": "2099-01-01" }), 400)
      assert.strictEqual(yield* refused({ "mcp-session-id": "gone" }), 404)
      assert.lengthOf(server.calls, 1)
    })
  )

  it.scopedLive("of 2026 answers as the published schema and the words of the protocol have it", () =>
    Effect.gen(function* () {
      const misfits = schemaOf("2026-07-28")
      const { url } = yield* mcpServer(null, "2026")
      const ask = client(url, { "mcp-protocol-version": "2026-07-28" })
      const _meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": introduction.clientInfo,
        "io.modelcontextprotocol/clientCapabilities": {}
      }
      const step = (method: string, params: object = {}) => Effect.promise(() => ask(method, params))
      for (const [method, definition] of [
        ["server/discover", "DiscoverResult"],
        ["tools/list", "ListToolsResult"],
        ["tools/call", "CallToolResult"]
      ] as const) {
        const { body, headers } = yield* step(method, { name: "get_issue", arguments: {}, _meta })
        assert.deepStrictEqual(misfits(definition, body.result), [], method)
        assert.isNull(headers.get("mcp-session-id"))
      }
      const old = yield* step("tools/list")
      assert.deepStrictEqual([old.status, old.body.error.code], [400, -32022])
      assert.deepStrictEqual(misfits("JSONRPCErrorResponse", old.body), [])
    })
  )

  it.scopedLive("with a key asks for it as the protocol has it", () =>
    Effect.gen(function* () {
      const { url } = yield* mcpServer("a-key-of-tests")
      const { headers, status } = yield* Effect.promise(() => client(url)("tools/list"))
      assert.strictEqual(status, 401)
      assert.match(headers.get("www-authenticate") ?? "", /^Bearer .*resource_metadata="http/)
    })
  )
})

interface Example {
  readonly path: string
  readonly value: { readonly name: string }
}

const examples: ReadonlyArray<Example> = recorded("examples").examples

describe("what the protocol publishes as examples", () => {
  for (const { path, value } of examples.filter(({ path }) => path.includes("/Tool/")))
    it(`${path} can be offered`, () => {
      const [judged] = judgeTools({ allow: [value.name] }, new Map(), readTools([value]))
      assert.strictEqual(judged?.standing, "offered", judged?.reason ?? "")
    })

  for (const { path, value } of examples.filter(({ path }) => path.includes("/CallToolResult/")))
    it(`${path} is read`, () => {
      const { text } = readAnswer(value)
      assert.notStrictEqual(text, "")
      assert.notInclude(text, "cannot be read")
    })
})
