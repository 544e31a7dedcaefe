import http from "node:http"
import { tmpdir } from "node:os"
import { assert, it } from "@effect/vitest"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { Manifests } from "@reins/machine/harness/Manifests"
import { Outbound } from "@reins/machine/outbound/Outbound"
import { CredentialProxy } from "@reins/machine/relay/gateway/CredentialProxy"
import { Loans } from "@reins/machine/relay/Loans"
import { ToolLoans } from "@reins/machine/relay/mcp/ToolLoans"
import { Effect, Layer, Redacted } from "effect"
import { bearer, gatewayOf, lentTo } from "./Loans.js"

const pieceMs = 1_000

const services = Layer.merge(CredentialProxy.layerWith({ pieceMs }), ToolLoans.layerWith({ bodyMs: 500 })).pipe(
  Layer.provide([
    Loans.layer,
    CoreConfig.layer({ dataDir: tmpdir() }),
    Manifests.layer,
    Outbound.layerWith({ allowPrivateHosts: ["127.0.0.1"] })
  ])
)

/** Sends a request whose body comes in pieces, and gives the status of its answer, or "ended" where its connection was. */
const sent = (url: string, token: string, pieces: ReadonlyArray<string>, isWhole: boolean) =>
  Effect.async<number | "ended">((resume) => {
    const request = http.request(
      url,
      { method: "POST", headers: { ...bearer(token), "content-type": "application/json" }, agent: false },
      (answer) => {
        answer.resume()
        resume(Effect.succeed(answer.statusCode ?? 0))
      }
    )
    request.on("error", () => resume(Effect.succeed("ended")))
    const rest = [...pieces]
    const timer = setInterval(() => {
      const piece = rest.shift()
      if (piece !== undefined) return void request.write(piece)
      clearInterval(timer)
      if (isWhole) request.end()
    }, pieceMs / 10)
    return Effect.sync(() => {
      clearInterval(timer)
      request.destroy()
    })
  })

/** A gateway that answers once the whole body is there. */
const patient = gatewayOf((request, response) => {
  request.resume().once("end", () => response.end("{}"))
})

it.scopedLive("a request to a gateway ends when no more of it comes, and may take any time while it does", () =>
  Effect.gen(function* () {
    const { token, url } = yield* lentTo(yield* patient)
    const slow = Array.from({ length: 30 }, () => " ")
    const [whole, broken] = yield* Effect.all(
      [sent(`${url}/other`, token, [...slow, "{}"], true), sent(`${url}/other`, token, ['{"a":'], false)],
      { concurrency: 2 }
    )
    assert.strictEqual(whole, 200)
    assert.strictEqual(broken, "ended")
  }).pipe(Effect.provide(services))
)

it.scopedLive("a request to the tools of an agent has to come as a whole in time, and says so", () =>
  Effect.gen(function* () {
    const tools = yield* (yield* ToolLoans).lend({
      is_always_loaded: true,
      servers: [
        {
          name: "reins",
          tools: [{ name: "a", description: "Does it.", input_schema: { type: "object" }, is_read_only: true }]
        }
      ]
    })
    yield* tools.open(() => Effect.succeed({ text: "done", is_error: false }))
    const [server] = tools.servers
    if (server === undefined) return assert.fail("nothing is lent")
    const status = yield* sent(server.url, Redacted.value(server.token), ['{"jsonrpc":"2.0",', '"id":1,'], false)
    assert.strictEqual(status, 408)
  }).pipe(Effect.provide(services))
)
