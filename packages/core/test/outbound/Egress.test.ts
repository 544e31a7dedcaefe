import { isIP, type LookupFunction } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import type { Egress } from "@reins/base/base/Egress"
import type { GuardOptions } from "@reins/machine/outbound/Dial"
import { Outbound } from "@reins/machine/outbound/Outbound"
import { WayOut } from "@reins/machine/outbound/WayOut"
import { startOperatorProxy } from "@reins/testing/connections/ConnectProxy"
import { localServer } from "@reins/testing/connections/LocalServer"
import { Effect, Either, Redacted } from "effect"
import { pageAt, tunnelTo } from "./ProxyClient.js"

const login = "operator:p%40ss%20w%3Ard"
const authorization = `Basic ${Buffer.from("operator:p@ss w:rd").toString("base64")}`

const names: Readonly<Record<string, ReadonlyArray<string>>> = {
  "forge.example": ["2606:4700::1111", "1.1.1.1"],
  "inside.example": ["10.0.0.5"],
  "both.example": ["1.1.1.1", "10.0.0.5"],
  "mapped.example": ["::ffff:10.0.0.5"],
  localhost: ["127.0.0.1", "::1"]
}

const lookup: LookupFunction = (name, _options, found) => {
  const known = names[name]
  if (known === undefined) return found(Object.assign(new Error("unknown"), { code: "ENOTFOUND" }), [])
  found(
    null,
    known.map((address) => ({ address, family: isIP(address) }))
  )
}

/** A proxy whose whole world is one web server, or a refusal. */
const proxied = (refusal?: number) =>
  Effect.gen(function* () {
    const server = yield* localServer((_asked, response) => void response.end("hello"))
    const proxy = yield* Effect.acquireRelease(
      Effect.promise(() =>
        startOperatorProxy({
          authorization,
          world: () => (refusal === undefined ? server.port : { status: refusal })
        })
      ),
      ({ close }) => Effect.promise(close)
    )
    return { proxy, server }
  })

const egressAt = (port: number, change: Partial<Egress> = {}): Egress => ({
  proxy: Redacted.make(`http://${login}@127.0.0.1:${port}`),
  direct: [],
  lookup: "server",
  ...change
})

const fetchWith = (guard: Partial<GuardOptions>, url: string) =>
  Effect.flatMap(Outbound, ({ fetch }) => Effect.either(fetch(url))).pipe(
    Effect.provide(Outbound.layerWith({ allowPrivateHosts: [], lookup, ...guard }))
  )

const messageOf = (answer: Either.Either<unknown, { readonly message: string }>) =>
  Either.isLeft(answer) ? answer.left.message : assert.fail("it was answered")

describe("the proxy of an operator", () => {
  it.scopedLive("connects to the address that was looked up and checked, IPv4 first", () =>
    Effect.gen(function* () {
      const { proxy } = yield* proxied(403)
      const egress = egressAt(proxy.port)
      for (const url of ["https://forge.example/", "https://1.1.1.1:8443/", "https://[2606:4700::1111]/"])
        assert.include(messageOf(yield* fetchWith({ egress }, url)), "(403)")
      assert.deepStrictEqual(proxy.asked, ["1.1.1.1:443", "1.1.1.1:8443", "[2606:4700::1111]:443"])
    })
  )

  it.scopedLive("is never asked for an address that is refused", () =>
    Effect.gen(function* () {
      const { proxy } = yield* proxied()
      for (const host of ["server", "proxy"] as const) {
        const egress = egressAt(proxy.port, { lookup: host })
        for (const place of [
          "10.0.0.5",
          "169.254.169.254",
          "[::1]",
          "127.0.0.1",
          "localhost",
          "[::ffff:10.0.0.5]",
          "2130706433"
        ]) {
          const answer = yield* fetchWith({ egress }, `https://${place}/`)
          assert.include(messageOf(answer), "REINS_ALLOW_PRIVATE_HOSTS", place)
        }
        assert.include(messageOf(yield* fetchWith({ egress }, "http://forge.example/")), "without TLS")
      }
      const here = egressAt(proxy.port)
      for (const name of ["inside.example", "both.example", "mapped.example"])
        assert.include(messageOf(yield* fetchWith({ egress: here }, `https://${name}/`)), "not on the public Internet")
      const there = egressAt(proxy.port, { lookup: "proxy" })
      for (const name of ["metadata.google.internal", "router.lan", "intranet", "nas.local"])
        assert.include(messageOf(yield* fetchWith({ egress: there }, `https://${name}/`)), "not on the public Internet")
      assert.deepStrictEqual(proxy.asked, [])
    })
  )

  it.scopedLive("is asked for names where the machine cannot look them up", () =>
    Effect.gen(function* () {
      const { proxy } = yield* proxied(403)
      const unknown = yield* fetchWith({ egress: egressAt(proxy.port) }, "https://unknown.example/")
      assert.include(messageOf(unknown), "REINS_EGRESS_LOOKUP=proxy")
      assert.deepStrictEqual(proxy.asked, [])
      const egress = egressAt(proxy.port, { lookup: "proxy" })
      assert.include(messageOf(yield* fetchWith({ egress }, "https://unknown.example/")), "unknown.example:443 (403)")
      assert.deepStrictEqual(proxy.asked, ["unknown.example:443"])
    })
  )

  it.scopedLive("reaches the hosts that the operator allows, by name where the name is unknown here", () =>
    Effect.gen(function* () {
      const { proxy, server } = yield* proxied()
      const egress = egressAt(proxy.port)
      const allowPrivateHosts = ["inside.example", "unknown.example", "10.0.0.9:8080"]
      for (const url of ["http://inside.example/a", "http://unknown.example:81/b", "http://10.0.0.9:8080/c"]) {
        const answer = yield* fetchWith({ egress, allowPrivateHosts }, url)
        assert.deepStrictEqual([Either.isRight(answer) && answer.right.status, url], [200, url])
      }
      assert.deepStrictEqual(proxy.asked, ["10.0.0.5:80", "unknown.example:81", "10.0.0.9:8080"])
      assert.deepStrictEqual(
        server.asked.map(({ headers, path }) => [path, headers.host, headers["proxy-authorization"]]),
        [
          ["/a", "inside.example", undefined],
          ["/b", "unknown.example:81", undefined],
          ["/c", "10.0.0.9:8080", undefined]
        ]
      )
    })
  )

  it.scopedLive("is passed by for loopback and for the hosts that are named", () =>
    Effect.gen(function* () {
      const { proxy, server } = yield* proxied()
      const allowPrivateHosts = ["127.0.0.1", "near.example"]
      const egress = egressAt(proxy.port, { direct: ["near.example"] })
      const near: LookupFunction = (_name, _options, found) => found(null, [{ address: "127.0.0.1", family: 4 }])
      for (const host of ["127.0.0.1", "near.example"]) {
        const answer = yield* fetchWith({ egress, allowPrivateHosts, lookup: near }, `http://${host}:${server.port}/`)
        assert.isTrue(Either.isRight(answer), host)
      }
      assert.deepStrictEqual(proxy.asked, [])
    })
  )

  it.scopedLive("says in a sentence why it does not connect, and never its password", () =>
    Effect.gen(function* () {
      const { proxy } = yield* proxied(502)
      const words = async (change: Partial<Egress>) => {
        const egress = egressAt(proxy.port, change)
        return messageOf(await Effect.runPromise(fetchWith({ egress }, "https://forge.example/")))
      }
      const closed = yield* localServer(() => undefined)
      const said = yield* Effect.promise(async () => [
        await words({}),
        await words({ proxy: Redacted.make(`http://operator:wrong-canary@127.0.0.1:${proxy.port}`) }),
        await words({ proxy: Redacted.make("http://operator:wrong-canary@127.0.0.1:9") }),
        await words({ proxy: Redacted.make(`https://operator:wrong-canary@127.0.0.1:${closed.port}`) })
      ])
      assert.include(said[0], "does not connect to [2606:4700::1111]:443 (502)")
      assert.include(said[1], "name and password (407)")
      assert.include(said[2], "cannot be reached (ECONNREFUSED)")
      assert.include(said[3], "cannot be reached (")
      for (const sentence of said) {
        assert.include(sentence, "REINS_EGRESS_PROXY")
        assert.notMatch(sentence ?? "", /canary|p@ss|operator/)
      }
      assert.deepStrictEqual(proxy.asked, ["1.1.1.1:443", "[2606:4700::1111]:443"])
    })
  )

  it.scopedLive("takes the connections of git and of agents, by their own leave", () =>
    Effect.gen(function* () {
      const { proxy, server } = yield* proxied()
      const guard = { allowPrivateHosts: ["unknown.example"], lookup, egress: egressAt(proxy.port) }
      yield* Effect.gen(function* () {
        const wayOut = yield* WayOut
        assert.isTrue(wayOut.isOnlyWay)
        const own = yield* wayOut.open({ privateHosts: true, refusal: () => undefined })
        const page = yield* pageAt(own, "http://unknown.example/there")
        assert.deepStrictEqual([page.status, server.asked[0]?.path], [200, "/there"])
        assert.notProperty(server.asked[0]?.headers, "proxy-authorization")
        const { socket, status } = yield* tunnelTo(own, "forge.example:443")
        assert.strictEqual(status, 200)
        socket.destroy()
        const open = yield* wayOut.open({ privateHosts: false, refusal: () => undefined })
        for (const place of ["10.0.0.5:443", "inside.example:443", "127.0.0.1:443"])
          assert.strictEqual((yield* tunnelTo(open, place)).status, 403, place)
        assert.deepStrictEqual(proxy.asked, ["unknown.example:80", "1.1.1.1:443"])
        const ssh = yield* Effect.flip(wayOut.addressOf("forge.example", 22))
        assert.include(ssh, "SSH does not go through the proxy")
      }).pipe(Effect.provide(WayOut.layerWith(guard)))
    })
  )
})
