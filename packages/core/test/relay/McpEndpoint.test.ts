import { tmpdir } from "node:os"
import { assert, it } from "@effect/vitest"
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { defaultLimits } from "@reins/base/base/CoreLimits"
import { Loans } from "@reins/machine/relay/Loans"
import { ToolLoans } from "@reins/machine/relay/mcp/ToolLoans"
import type { CallTool, OfferedCall, ToolOffer } from "@reins/machine/relay/mcp/ToolOffer"
import { eventually } from "@reins/testing/process/Waiting"
import { Deferred, Effect, Exit, Layer, Redacted, Scope } from "effect"
import { ask, bearer } from "./Loans.js"

const limits = { ...defaultLimits, toolInputCharacters: 2000 }
const services = ToolLoans.layer.pipe(Layer.provide([Loans.layer, CoreConfig.layer({ dataDir: tmpdir(), limits })]))

const offer: ToolOffer = {
  is_always_loaded: true,
  servers: [
    {
      name: "reins",
      tools: [
        {
          name: "look_up",
          description: "Looks a ticket up.",
          input_schema: { type: "object", properties: { ticket: { type: "integer" } }, required: ["ticket"] },
          is_read_only: true
        }
      ]
    }
  ]
}

/** The tools of an agent, with the calls that came in order. */
const lent = (answer: CallTool = ({ input }) => Effect.succeed({ text: JSON.stringify(input), is_error: false })) =>
  Effect.gen(function* () {
    const tools = yield* (yield* ToolLoans).lend(offer)
    const calls: Array<OfferedCall> = []
    const [server] = tools.servers
    if (server === undefined) return yield* Effect.dieMessage("nothing is lent")
    const open = tools.open((call) =>
      Effect.zipRight(
        Effect.sync(() => calls.push(call)),
        answer(call)
      )
    )
    return { calls, open, url: server.url, token: Redacted.value(server.token) }
  })

type Era = "2025" | "2026"

const connect = ({ token, url }: { readonly url: string; readonly token: string }, era: Era) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const client = new Client(
        { name: "test", version: "1" },
        { versionNegotiation: { mode: era === "2025" ? "legacy" : { pin: "2026-07-28" } } }
      )
      await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: bearer(token) } }))
      return client
    }),
    (client) => Effect.promise(() => client.close())
  )

const call = (client: Client, args: Record<string, unknown>) =>
  Effect.promise(() => client.callTool({ name: "look_up", arguments: args }))

/** A request as the oldest clients make it, with headers of one's own. */
const rpc = (
  { token, url }: { readonly url: string; readonly token: string },
  method: string,
  params: object,
  headers: Record<string, string> = {}
) =>
  ask(url, {
    method: "POST",
    headers: {
      ...bearer(token),
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2025-06-18",
      ...headers
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 7, method, params })
  })

for (const era of ["2025", "2026"] as const) {
  it.scopedLive(`a client of ${era} lists the tools, calls one and gets its answer, as long as a turn runs`, () =>
    Effect.gen(function* () {
      const endpoint = yield* lent()
      const client = yield* connect(endpoint, era)
      const { tools } = yield* Effect.promise(() => client.listTools())
      assert.deepStrictEqual(
        tools.map(({ name }) => name),
        ["look_up"]
      )
      assert.deepStrictEqual(tools[0]?._meta?.["anthropic/alwaysLoad"], true)
      const turn = yield* Scope.make()
      yield* Scope.extend(endpoint.open, turn)
      const answered = yield* call(client, { ticket: 7 })
      assert.deepStrictEqual(answered.content, [{ type: "text", text: '{"ticket":7}' }])
      assert.deepStrictEqual(
        endpoint.calls.map(({ input, server, tool }) => ({ input, server, tool })),
        [{ input: { ticket: 7 }, server: "reins", tool: "look_up" }]
      )
      yield* Scope.close(turn, Exit.void)
      const late = yield* call(client, { ticket: 8 })
      assert.isTrue(late.isError)
      assert.include(JSON.stringify(late.content), "No turn of yours runs")
      assert.lengthOf(endpoint.calls, 1)
      yield* Effect.scoped(Effect.zipRight(endpoint.open, call(client, { ticket: 9 })))
      assert.lengthOf(endpoint.calls, 2)
    }).pipe(Effect.provide(services))
  )

  it.scopedLive(`a client of ${era} that closes its connection withdraws its call`, () =>
    Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      let isWithdrawn = false
      const endpoint = yield* lent(() =>
        Effect.zipRight(Deferred.succeed(begun, undefined), Effect.never).pipe(
          Effect.onInterrupt(() =>
            Effect.sync(() => {
              isWithdrawn = true
            })
          )
        )
      )
      yield* endpoint.open
      const client = yield* connect(endpoint, era)
      const gone = new AbortController()
      const asking = client.callTool({ name: "look_up", arguments: { ticket: 1 } }, { signal: gone.signal })
      asking.catch(() => undefined)
      yield* Deferred.await(begun)
      gone.abort()
      yield* Effect.promise(() => eventually("the call is withdrawn", () => isWithdrawn))
    }).pipe(Effect.provide(services))
  )
}

it.scopedLive("only the token opens the endpoint, and neither a page in a browser nor another host gets in", () =>
  Effect.gen(function* () {
    const endpoint = yield* lent()
    yield* endpoint.open
    const wrong = yield* rpc({ ...endpoint, token: "wrong" }, "tools/list", {})
    assert.strictEqual(wrong.status, 401)
    assert.notProperty(wrong.headers, "www-authenticate")
    assert.strictEqual((yield* rpc(endpoint, "tools/list", {}, { origin: "http://127.0.0.1:1" })).status, 403)
    assert.strictEqual((yield* rpc(endpoint, "tools/list", {}, { host: "evil.example" })).status, 403)
    assert.strictEqual((yield* rpc({ ...endpoint, url: `${endpoint.url}x` }, "tools/list", {})).status, 404)
    assert.strictEqual((yield* rpc(endpoint, "tools/list", {})).status, 200)
    const huge = yield* rpc(endpoint, "tools/call", { name: "look_up", arguments: { ticket: "x".repeat(2_000_000) } })
    assert.strictEqual(huge.status, 413)
    assert.lengthOf(endpoint.calls, 0)
  }).pipe(Effect.provide(services))
)

it.scopedLive(
  "a call names the id that the agent's model gave it, and an unknown tool or a long input is told to the model",
  () =>
    Effect.gen(function* () {
      const endpoint = yield* lent()
      yield* endpoint.open
      for (const _meta of [{ callId: "call_1" }, { "claudecode/toolUseId": "toolu_2" }, {}])
        yield* rpc(endpoint, "tools/call", { name: "look_up", arguments: { ticket: 1 }, _meta })
      assert.deepStrictEqual(
        endpoint.calls.map(({ call_id }) => call_id),
        ["call_1", "toolu_2", "request-7"]
      )
      const unknown = yield* rpc(endpoint, "tools/call", { name: "drop_all", arguments: {} })
      assert.include(unknown.body.toString(), "There is no tool drop_all. There are: look_up.")
      // The name and the quotes are 13 characters of the JSON.
      const long = yield* rpc(endpoint, "tools/call", { name: "look_up", arguments: { ticket: "x".repeat(1988) } })
      assert.include(long.body.toString(), "The input is longer than 2000 characters. Call the tool with less.")
      assert.lengthOf(endpoint.calls, 3)
      yield* rpc(endpoint, "tools/call", { name: "look_up", arguments: { ticket: "x".repeat(1987) } })
      assert.lengthOf(endpoint.calls, 4)
    }).pipe(Effect.provide(services))
)
