import { createServer } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { builtInForges, Forges } from "@reins/machine/forge/Forges"
import { Outbound } from "@reins/machine/outbound/Outbound"
import { startOperatorProxy } from "@reins/testing/connections/ConnectProxy"
import { onLoopback } from "@reins/testing/connections/Loopback"
import { dialects } from "@reins/testing/forge/ForgeDialects"
import { ForgeServer } from "@reins/testing/forge/ForgeServer"
import { Effect, Layer, Redacted } from "effect"

const token = "forge-token-Zq8rT2vX5nB7"
const password = "egress-canary-51"
const authorization = `Basic ${Buffer.from(`operator:${password}`).toString("base64")}`
const head = "c".repeat(40)

/** A forge that only a proxy reaches, and the client of a server whose way out is that proxy. */
const given = (kind: (typeof builtInForges)[number], { login = `operator:${password}`, refusal = 0 } = {}) =>
  Effect.gen(function* () {
    const dialect = dialects[kind.kind as keyof typeof dialects]
    const repository = "acme/shop"
    const server = new ForgeServer(dialect(repository), token, {
      headOf: (branch) => (branch === "nowhere" ? undefined : head),
      merge: () => undefined
    })
    const port = yield* onLoopback(() =>
      createServer((request, response) => {
        if (!server.handle(request, response)) response.writeHead(418).end()
      })
    )
    const proxy = yield* Effect.acquireRelease(
      Effect.promise(() =>
        startOperatorProxy({
          authorization,
          world: (place) => (place === "forge.example:80" && refusal === 0 ? port : { status: refusal || 403 })
        })
      ),
      ({ close }) => Effect.promise(close)
    )
    // The operator allows the name, which this machine does not know, so the proxy looks it up.
    const outbound = Outbound.layerWith({
      allowPrivateHosts: ["forge.example"],
      lookup: (_name, _options, found) => found(Object.assign(new Error("unknown"), { code: "ENOTFOUND" }), []),
      egress: { proxy: Redacted.make(`http://${login}@127.0.0.1:${proxy.port}`), direct: [], lookup: "server" }
    })
    const forges = yield* Effect.provide(Forges, Layer.provide(Forges.layerOf([kind]), outbound))
    const credential = {
      kind: kind.kind,
      settings: { base_url: "http://forge.example" },
      secrets: { token: Redacted.make(token) }
    }
    return { forge: yield* forges.open(credential, `http://forge.example/${repository}.git`), proxy, server }
  })

const request = { head: "work", base: "main", title: "Fix the sum", description: "It adds.", draft: false }

describe("a merge request where a proxy is the only way out", () => {
  for (const kind of builtInForges) {
    it.scopedLive(`is opened, found, read and merged on ${kind.kind} through the proxy alone`, () =>
      Effect.gen(function* () {
        const { forge, proxy, server } = yield* given(kind)
        const { headSha, number } = yield* forge.create(request)
        assert.strictEqual((yield* forge.find(request))?.number, number)
        yield* forge.merge(number, { expectedHead: headSha, method: "merge" })
        assert.strictEqual((yield* forge.get(number)).state, "merged")
        assert.isAtLeast(server.seen.length, 4)
        assert.deepStrictEqual([...new Set(proxy.asked)], ["forge.example:80"])
        for (const { headers } of server.seen) {
          assert.strictEqual(headers.host, "forge.example")
          assert.notProperty(headers, "proxy-authorization")
        }
      })
    )

    it.scopedLive(`says on ${kind.kind} what the proxy says, without its password or the token`, () =>
      Effect.gen(function* () {
        const words = (options: Parameters<typeof given>[1]) =>
          Effect.flatMap(given(kind, options), ({ forge }) => Effect.flip(forge.create(request)))
        const refused = yield* words({ refusal: 403 })
        assert.include(refused.message, "does not connect to forge.example:80 (403)")
        const stranger = yield* words({ login: "operator:wrong-canary" })
        assert.include(stranger.message, "does not accept its name and password (407)")
        for (const { message } of [refused, stranger]) {
          assert.include(message, "REINS_EGRESS_PROXY")
          assert.notMatch(message, /canary|Zq8rT2vX5nB7|operator/)
        }
      })
    )
  }
})
