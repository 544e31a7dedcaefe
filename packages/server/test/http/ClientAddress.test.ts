import { assert, describe, it, layer } from "@effect/vitest"
import { clientAddressBehind, isNetwork } from "@reins/server/http/ClientAddress"
import { Effect } from "effect"
import * as fc from "fast-check"
import { send, service } from "../Service.js"

describe("the address of a client", () => {
  const behind = clientAddressBehind(["127.0.0.1", "10.0.0.0/8", "fd00::/8"])

  it("is that of the connection, whatever a stranger says of himself", () => {
    assert.strictEqual(behind("192.0.2.7", { forwardedFor: "198.51.100.1" }), "192.0.2.7")
    assert.strictEqual(clientAddressBehind([])("127.0.0.1", { forwardedFor: "198.51.100.1" }), "127.0.0.1")
  })

  it("is an IPv4 address as such, however a socket of both families or a proxy writes it", () => {
    assert.strictEqual(behind("::ffff:192.0.2.7", {}), "192.0.2.7")
    assert.strictEqual(behind("127.0.0.1", { forwardedFor: "::FFFF:203.0.113.9" }), "203.0.113.9")
    assert.strictEqual(behind("2001:db8::ffff:1", {}), "2001:db8::ffff:1")
  })

  it("is the last that a trusted proxy names and that is no proxy itself", () => {
    assert.strictEqual(behind("127.0.0.1", { forwardedFor: "203.0.113.9" }), "203.0.113.9")
    assert.strictEqual(behind("::ffff:127.0.0.1", { forwardedFor: "1.1.1.1, 203.0.113.9, 10.1.2.3" }), "203.0.113.9")
    assert.strictEqual(behind("fd00::1", { forwardedFor: " 2001:db8::9 " }), "2001:db8::9")
    assert.strictEqual(behind("127.0.0.1", {}), "127.0.0.1")
    assert.strictEqual(behind("127.0.0.1", { forwardedFor: "10.0.0.1, 10.0.0.2" }), "10.0.0.1")
    assert.strictEqual(behind("127.0.0.1", { forwardedFor: "203.0.113.9, unknown" }), "127.0.0.1")
  })

  it("never depends on what a client put before its own address", () => {
    fc.assert(
      fc.property(fc.string(), fc.ipV4(), (forged, own) => {
        fc.pre(behind(own, {}) === own && !own.startsWith("10.") && own !== "127.0.0.1")
        return behind("127.0.0.1", { forwardedFor: `${forged}, ${own}` }) === own
      })
    )
  })

  it("is found behind a port and in brackets", () => {
    for (const [hop, client] of [
      ["203.0.113.7:50412", "203.0.113.7"],
      ["203.0.113.7:", "203.0.113.7"],
      ["[2001:db8::7]", "2001:db8::7"],
      ["[2001:db8::7]:50412", "2001:db8::7"],
      ["::ffff:203.0.113.7", "203.0.113.7"],
      ["[::ffff:203.0.113.7]:443", "203.0.113.7"],
      ["fe80::1%eth0", "fe80::1"],
      ["198.51.100.1:1, 203.0.113.7:50412, 10.1.2.3:80", "203.0.113.7"]
    ] as const)
      assert.strictEqual(behind("127.0.0.1", { forwardedFor: hop }), client, hop)
  })

  it("is read from Forwarded where there is no X-Forwarded-For", () => {
    for (const [forwarded, client] of [
      ["for=203.0.113.7", "203.0.113.7"],
      ['For="203.0.113.7:50412";proto=https', "203.0.113.7"],
      ['by=10.0.0.1; for="[2001:db8::7]:4711"', "2001:db8::7"],
      ['for=198.51.100.1, for="203.0.113.7";by="a,b", for=10.1.2.3', "203.0.113.7"],
      ['for="\\203.0.113.7"', "203.0.113.7"]
    ] as const)
      assert.strictEqual(behind("127.0.0.1", { forwarded }), client, forwarded)
    assert.strictEqual(
      behind("127.0.0.1", { forwardedFor: "203.0.113.9", forwarded: "for=198.51.100.1" }),
      "203.0.113.9"
    )
  })

  it("is the proxy where the proxy names no address, which is told", () => {
    const told: Array<string> = []
    const behind = clientAddressBehind(["127.0.0.1", "10.0.0.0/8"], (hop) => told.push(hop))
    for (const forwardedFor of ["unknown", "", "203.0.113.7:x:y", "203.0.113.300", "[203.0.113.7", "host.example"])
      assert.strictEqual(behind("127.0.0.1", { forwardedFor: `198.51.100.1, ${forwardedFor}` }), "127.0.0.1")
    for (const forwarded of ["for=_hidden", "for=unknown", "proto=https", "xfor=203.0.113.7"])
      assert.strictEqual(behind("10.0.0.1", { forwarded: `for=198.51.100.1, ${forwarded}` }), "10.0.0.1")
    assert.lengthOf(told, 10)
    assert.strictEqual(behind("127.0.0.1", {}), "127.0.0.1")
    assert.lengthOf(told, 10, "a proxy that says nothing is a request of its own")
  })

  it("takes addresses and networks for proxies, and nothing else", () => {
    for (const text of ["127.0.0.1", "10.0.0.0/8", "::1", "fd00::/8"]) assert.isTrue(isNetwork(text), text)
    for (const text of ["", "localhost", "10.0.0.0/33", "::1/129", "10.0.0.0/", "10.0.0.0/8/8", "/8"])
      assert.isFalse(isNetwork(text), text)
  })
})

const requests = { rateLimit: 2 }

layer(service({ ...requests, trustedProxies: ["127.0.0.1"] }), { excludeTestServices: true })(
  "behind a proxy",
  (it) => {
    it.effect("callers have a limit of requests each", () =>
      Effect.gen(function* () {
        const ask = (address: string) =>
          Effect.map(send("GET", "/api/harnesses", { headers: { "x-forwarded-for": address } }), ({ status }) => status)
        assert.deepStrictEqual(
          yield* Effect.all([ask("192.0.2.1"), ask("192.0.2.1"), ask("192.0.2.1")]),
          [401, 401, 429]
        )
        assert.strictEqual(yield* ask("192.0.2.2"), 401)
      })
    )
  }
)

layer(service(requests), { excludeTestServices: true })("without a trusted proxy", (it) => {
  it.effect("nobody gets another limit by naming another address", () =>
    Effect.gen(function* () {
      const ask = (address: string) =>
        Effect.map(send("GET", "/api/harnesses", { headers: { "x-forwarded-for": address } }), ({ status }) => status)
      assert.deepStrictEqual(yield* Effect.all([ask("192.0.2.1"), ask("192.0.2.2"), ask("192.0.2.3")]), [401, 401, 429])
    })
  )
})
