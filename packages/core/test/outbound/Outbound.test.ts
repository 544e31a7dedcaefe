import type { ServerResponse } from "node:http"
import type { LookupFunction } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { allowedBy, isAllowedHost, isPublic } from "@reins/machine/outbound/Address"
import type { GuardOptions } from "@reins/machine/outbound/Dial"
import { Outbound, type OutboundLimits, type OutboundRequest } from "@reins/machine/outbound/Outbound"
import { localServer } from "@reins/testing/connections/LocalServer"
import { Effect, Fiber, FastCheck as fc } from "effect"

const canary = "canary-Out8rT2vX5nB7mK1p"

const fetchWith = (guard: Partial<GuardOptions>) => (url: string, request?: OutboundRequest, limits?: OutboundLimits) =>
  Effect.flatMap(Outbound, (outbound) => outbound.fetch(url, request, limits)).pipe(
    Effect.provide(Outbound.layerWith({ allowPrivateHosts: [], ...guard }))
  )
const strict = fetchWith({})
const onLoopback = fetchWith({ allowPrivateHosts: ["127.0.0.1"] })

/** A resolver that gives back the addresses for every name. */
const resolvingTo =
  (...addresses: ReadonlyArray<string>): LookupFunction =>
  (_name, _options, found) =>
    found(
      null,
      addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }))
    )

describe("addresses", () => {
  const hidden = [
    "127.0.0.1",
    "127.1.2.3",
    "0.0.0.0",
    "10.0.0.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "192.0.0.1",
    "192.0.2.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::7f00:1",
    "::8.8.8.8",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:0:127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b:1::1",
    "2002:7f00:1::",
    "2001::1",
    "2001:db8::1",
    "fc00::1",
    "fd12:3456::1",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "100::1",
    "no address",
    ""
  ]
  for (const address of hidden) it(`${address || "nothing"} is not public`, () => assert.isFalse(isPublic(address)))
  for (const address of ["1.1.1.1", "140.82.121.4", "2606:4700::1111", "::ffff:1.1.1.1"]) {
    it(`${address} is public`, () => assert.isTrue(isPublic(address)))
  }

  it("an IPv4 address and the IPv6 address that stands for it are the same", () =>
    fc.assert(fc.property(fc.ipV4(), (address) => isPublic(address) === isPublic(`::ffff:${address}`))))

  it("an entry allows a host on every port, or on the one that it names, and nothing else", () => {
    const allows = allowedBy(["127.0.0.1:11434", "GitLab.lan", "[::1]:80", "fd00::2", "not a host", "a/b"])
    assert.isTrue(allows("127.0.0.1", 11434))
    assert.isFalse(allows("127.0.0.1", 22))
    assert.isTrue(allows("gitlab.lan", 443))
    assert.isFalse(allows("evil.gitlab.lan", 443))
    assert.isTrue(allows("::1", 80))
    assert.isFalse(allows("::1", 81))
    assert.isTrue(allows("fd00::2", 1))
    assert.isFalse(allows("not a host", 1))
    assert.isTrue(allowedBy(["*"])("10.0.0.1", 1))
    assert.isFalse(allowedBy([])("1.1.1.1", 443))
  })

  it("what cannot be an entry is told from what can", () => {
    for (const entry of ["*", "localhost", "10.0.0.1:8080", "::1", "[::1]:80"])
      assert.isTrue(isAllowedHost(entry), entry)
    for (const entry of ["", "http://a", "a b", "a/b", "a@b", "a:x"]) assert.isFalse(isAllowedHost(entry), entry)
  })
})

describe("an outbound request", () => {
  it.scopedLive("gives back the status, the headers and the body, whatever the status", () =>
    Effect.gen(function* () {
      const server = yield* localServer(({ body, headers, method }, response) => {
        response.writeHead(method === "POST" ? 500 : 200, { "x-said": String(headers["x-say"]) })
        response.end(`got ${body}`)
      })
      const first = yield* onLoopback(`${server.url}/models?a=1`, { headers: { "x-say": "hello" } })
      assert.deepInclude(first, { status: 200, body: "got " })
      assert.strictEqual(first.headers["x-said"], "hello")
      const second = yield* onLoopback(server.url, { method: "POST", body: "héllo" })
      assert.deepInclude(second, { status: 500, body: "got héllo" })
      assert.deepStrictEqual(
        server.asked.map(({ path }) => path),
        ["/models?a=1", "/"]
      )
    })
  )

  for (const scheme of ["http", "https"]) {
    it.scopedLive(`never reaches a private host through ${scheme}, however it is spelled`, () =>
      Effect.gen(function* () {
        const server = yield* localServer((_asked, response) => void response.end())
        const spellings = [
          "127.0.0.1",
          "2130706433",
          "0x7f000001",
          "0x7f.1",
          "017700000001",
          "0177.0.0.1",
          "127.1",
          "127.0.1",
          "0",
          "0.0.0.0",
          "localhost",
          "LOCALHOST",
          "[::1]",
          "[::]",
          "[0:0:0:0:0:0:0:1]",
          "[::ffff:127.0.0.1]",
          "[::ffff:7f00:1]",
          "[::127.0.0.1]",
          "[::7f00:1]",
          "[64:ff9b::7f00:1]",
          "[2002:7f00:1::]",
          "169.254.169.254",
          "10.0.0.1",
          "192.168.0.1",
          "172.16.0.1",
          "100.64.0.1",
          "[fd00::1]",
          "[fe80::1]",
          "[fec0::1]",
          "１２７.0.0.1"
        ]
        for (const host of spellings) {
          const error = yield* Effect.flip(strict(`${scheme}://${host}:${server.port}/`))
          assert.strictEqual(error.kind, "refused_address", host)
          assert.include(error.message, "REINS_ALLOW_PRIVATE_HOSTS")
        }
        assert.lengthOf(server.asked, 0)
      })
    )
  }

  it.live("a name that leads to a private address is refused, also when it leads to a public one as well", () =>
    Effect.gen(function* () {
      for (const addresses of [["127.0.0.1"], ["1.1.1.1", "127.0.0.1"], ["::ffff:10.0.0.1"], []]) {
        const error = yield* Effect.flip(fetchWith({ lookup: resolvingTo(...addresses) })("https://gateway.example/"))
        assert.strictEqual(error.kind, "refused_address")
      }
    })
  )

  it.scopedLive("the address that is checked is the one that is connected: a name is looked up once", () =>
    Effect.gen(function* () {
      const server = yield* localServer((_asked, response) => void response.end("rebound"))
      let times = 0
      const rebinding: LookupFunction = (name, options, found) => {
        times++
        return resolvingTo(times === 1 ? "169.254.169.254" : "127.0.0.1")(name, options, found)
      }
      const fetch = fetchWith({ lookup: rebinding })
      const error = yield* Effect.flip(fetch(`https://rebinding.example:${server.port}/`))
      assert.strictEqual(error.kind, "refused_address")
      assert.strictEqual(times, 1)
    })
  )

  it.scopedLive("a name that the operator allows may lead anywhere, without TLS too", () =>
    Effect.gen(function* () {
      const server = yield* localServer((_asked, response) => void response.end("hello"))
      const fetch = fetchWith({ allowPrivateHosts: [`gateway.lan:${server.port}`], lookup: resolvingTo("127.0.0.1") })
      assert.strictEqual((yield* fetch(`http://gateway.lan:${server.port}/`)).body, "hello")
      assert.strictEqual((yield* Effect.flip(fetch(`http://other.lan:${server.port}/`))).kind, "refused_address")
    })
  )

  it.live("a public host is asked with TLS only", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(strict("http://gateway.example/"))
      assert.strictEqual(error.kind, "refused_address")
      assert.include(error.message, "without TLS")
      assert.strictEqual((yield* Effect.flip(strict("ftp://gateway.example/"))).kind, "refused_address")
      assert.strictEqual((yield* Effect.flip(strict("not a url"))).kind, "refused_address")
    })
  )

  it.scopedLive("a redirect is an error, and where it leads is not asked", () =>
    Effect.gen(function* () {
      const other = yield* localServer((_asked, response) => void response.end())
      const server = yield* localServer((_asked, response) => {
        response.writeHead(302, { location: other.url })
        response.end()
      })
      assert.strictEqual((yield* Effect.flip(onLoopback(server.url))).kind, "redirect")
      assert.lengthOf(other.asked, 0)
    })
  )

  it.scopedLive("a body over the limit breaks the connection off", () =>
    Effect.gen(function* () {
      let closed: (() => void) | undefined
      const broken = new Promise<void>((resolve) => {
        closed = resolve
      })
      const server = yield* localServer((_asked, response) => {
        response.on("close", () => closed?.())
        const more = (): void => {
          if (!response.destroyed) response.write("x".repeat(65_536), () => setImmediate(more))
        }
        more()
      })
      const error = yield* Effect.flip(onLoopback(server.url))
      assert.strictEqual(error.kind, "too_large")
      yield* Effect.promise(() => broken)
      assert.strictEqual((yield* Effect.flip(onLoopback(server.url, {}, { maxBytes: 10 }))).kind, "too_large")
    })
  )

  it.scopedLive("where the status decides, an answer counts once its headers are there, whatever its body does", () =>
    Effect.gen(function* () {
      const bodies: Record<string, (response: ServerResponse) => unknown> = {
        "/whole": (response) => response.end("taken"),
        "/none": (response) => response.end(),
        "/stalls": (response) => response.write("taken"),
        "/breaks": (response) => response.write("taken", () => response.socket?.destroy()),
        "/falls-silent": (response) => response.flushHeaders(),
        "/long": (response) => response.end("taken".padEnd(2_000_000, "."))
      }
      const server = yield* localServer(({ path }, response) => {
        const [, status = "", body = ""] = /^\/(\d+)(\/.+)$/.exec(path) ?? []
        // A length that is not kept, so that a body which breaks off is seen as such.
        response.writeHead(Number(status), body === "/breaks" ? { "content-length": "1000" } : {})
        return bodies[body]?.(response)
      })
      const limits = { bodyWaitMs: 50, maxBytes: 10 }
      for (const status of [200, 302, 410, 503])
        for (const body of Object.keys(bodies)) {
          const answer = yield* onLoopback(`${server.url}/${status}${body}`, { method: "POST", body: "x" }, limits)
          assert.strictEqual(answer.status, status, body)
          assert.include(["", "taken", "taken....."], answer.body, body)
        }
      assert.strictEqual((yield* Effect.flip(onLoopback(`${server.url}/200/breaks`))).kind, "unreachable")
    })
  )

  it.scopedLive("where the status decides, a host that says nothing is left after the time limit", () =>
    Effect.gen(function* () {
      const server = yield* localServer(() => {})
      const error = yield* Effect.flip(onLoopback(server.url, {}, { timeoutMs: 50, bodyWaitMs: 20_000 }))
      assert.strictEqual(error.kind, "timeout")
      assert.include(error.message, "0.05 seconds")
    })
  )

  it.scopedLive("a host that hangs is left after the time limit, and at once when the request is interrupted", () =>
    Effect.gen(function* () {
      const waiting: Array<() => void> = []
      const closed: Array<Promise<void>> = []
      const server = yield* localServer((_asked, response) => {
        closed.push(new Promise((resolve) => response.on("close", resolve)))
        for (const go of waiting) go()
      })
      const asked = onLoopback(server.url, {}, { timeoutMs: 200 })
      // A request that changes something is not interrupted, and its limits hold none the less.
      for (const ask of [asked, Effect.uninterruptible(asked)])
        assert.strictEqual((yield* Effect.flip(ask)).kind, "timeout")
      yield* Effect.promise(() => Promise.all(closed))
      const arrived = new Promise<void>((resolve) => waiting.push(resolve))
      const fiber = yield* Effect.fork(onLoopback(server.url))
      yield* Effect.promise(() => arrived)
      yield* Fiber.interrupt(fiber)
      yield* Effect.promise(() => Promise.all(closed))
    })
  )

  it.scopedLive("a host without TLS, one that refuses connections and one that hangs up are told apart", () =>
    Effect.gen(function* () {
      const server = yield* localServer((_asked, response) => void response.socket?.destroy())
      assert.strictEqual((yield* Effect.flip(onLoopback(`https://127.0.0.1:${server.port}`))).kind, "tls")
      assert.strictEqual((yield* Effect.flip(onLoopback(server.url))).kind, "unreachable")
      assert.strictEqual((yield* Effect.flip(onLoopback("http://127.0.0.1:9"))).kind, "unreachable")
    })
  )

  it.scopedLive("no error says anything of the path, the query, the headers or the body", () =>
    Effect.gen(function* () {
      const server = yield* localServer((_asked, response) => void response.socket?.destroy())
      const secret = { headers: { authorization: `Bearer ${canary}` }, method: "POST", body: canary }
      const places = [server.url, `https://127.0.0.1:${server.port}`, "http://10.0.0.1", "https://10.0.0.1"]
      for (const place of places) {
        const error = yield* Effect.flip(onLoopback(`${place}/${canary}?key=${canary}`, secret))
        assert.notInclude(JSON.stringify(error) + error.message, canary)
      }
      const unsendable = yield* Effect.flip(onLoopback(server.url, { headers: { authorization: `${canary}\n` } }))
      assert.notInclude(JSON.stringify(unsendable) + unsendable.message, canary)
    })
  )
})
