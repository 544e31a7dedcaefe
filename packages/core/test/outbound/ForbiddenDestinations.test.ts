import http from "node:http"
import https from "node:https"
import { createServer, isIP, type LookupFunction } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { forgeHost } from "@reins/machine/forge/ForgeHost"
import { askForge } from "@reins/machine/forge/ForgeRequest"
import { gitHub } from "@reins/machine/forge/GitHub"
import { Git } from "@reins/machine/git/Git"
import { Outbound } from "@reins/machine/outbound/Outbound"
import { WayOut } from "@reins/machine/outbound/WayOut"
import { temporary } from "@reins/testing/git/Fixture"
import { gitHttpServer } from "@reins/testing/git/GitHttpServer"
import { Effect, Either, Layer, Redacted, type Scope } from "effect"
import { pageAt, tunnelTo } from "./ProxyClient.js"

/** Places of this machine, of private networks and of the metadata of clouds, in every spelling that a program could understand. */
const hosts = [
  ..."127.0.0.1 127.1 127.0.1 127.1.2.3 127.255.255.254 2130706433 0x7f000001 0x7f.1 0x7F.0x0.0x0.0x1 0177.0.0.1 017700000001".split(
    " "
  ),
  ..."127.0.0.1. 0 0.0.0.0 0x0 00 localhost LOCALHOST LocalHost １２７.0.0.1 127。0。0。1 %31%32%37.0.0.1 ①②⑦.0.0.1".split(
    " "
  ),
  ..."[::1] [::] [0:0:0:0:0:0:0:1] [0000::0001] [::ffff:127.0.0.1] [::ffff:7f00:1] [0:0:0:0:0:ffff:127.0.0.1] [::127.0.0.1]".split(
    " "
  ),
  ..."[::7f00:1] [64:ff9b::7f00:1] [64:ff9b::127.0.0.1] [64:ff9b:1::7f00:1] [2002:7f00:1::] [::ffff:0:127.0.0.1] [2001::1]".split(
    " "
  ),
  ..."10.0.0.1 10.255.255.255 0xa000001 167772161 012.0.0.1 10.1 172.16.0.1 172.31.255.254 192.168.0.1 192.168.255.255".split(
    " "
  ),
  ..."3232235521 0xc0a80001 192.168.1 100.64.0.1 100.127.255.254 [fc00::1] [fd00::1] [fd12:3456:789a::1] [2002:a00:1::]".split(
    " "
  ),
  ..."[::ffff:10.0.0.1] [::ffff:c0a8:1] [64:ff9b::a00:1] 169.254.0.1 169.254.169.254 2852039166 0xa9fea9fe 0xa9.0xfe.0xa9.0xfe".split(
    " "
  ),
  ..."0251.0376.0251.0376 169.254.43518 [fe80::1] [febf::1] [::ffff:169.254.169.254] [::ffff:a9fe:a9fe] [2002:a9fe:a9fe::]".split(
    " "
  ),
  ..."[64:ff9b::a9fe:a9fe] [fd00:ec2::254] 169.254.170.2 100.100.100.200 192.0.0.192 192.0.0.1 192.0.2.1 198.18.0.1".split(
    " "
  ),
  ..."198.19.255.255 198.51.100.7 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 [ff02::1] [2001:db8::1]".split(
    " "
  ),
  ..."[100::1] [fec0::1] [::8.8.8.8]".split(" ")
]

/** The answers of an attacker's resolver for a name. A public address beside a private one is not connected either. */
const answers: Readonly<Record<string, ReadonlyArray<string>>> = {
  "loopback.example": ["127.0.0.1"],
  "loopback6.example": ["::1"],
  "mapped.example": ["::ffff:127.0.0.1"],
  "metadata.google.internal": ["169.254.169.254"],
  "private.example": ["10.0.0.1"],
  "unique-local.example": ["fd00::1"],
  "link-local.example": ["fe80::1"],
  "translated.example": ["64:ff9b::7f00:1"],
  "any.example": ["0.0.0.0"],
  "nothing.example": [],
  "first.example": ["127.0.0.1", "1.1.1.1"],
  "last.example": ["1.1.1.1", "127.0.0.1"],
  "hidden.example": ["2606:4700::1111", "1.1.1.1", "::ffff:a00:1"]
}

const lookup: LookupFunction = (name, _options, found) => {
  const known = answers[name.toLowerCase()] ?? (/^localhost$/i.test(name) ? ["127.0.0.1", "::1"] : undefined)
  if (known === undefined) return found(Object.assign(new Error("unknown"), { code: "ENOTFOUND" }), [])
  found(
    null,
    known.map((address) => ({ address, family: isIP(address) }))
  )
}

/** A server that nobody may reach: it counts its connections. Zero stands for a port that cannot be had, as where there is no IPv6. */
const listening = (host: string, wanted: number, reached: () => void) =>
  Effect.acquireRelease(
    Effect.sync(() =>
      createServer((socket) => {
        reached()
        socket.destroy()
      })
    ),
    (server) => Effect.sync(() => server.close())
  ).pipe(
    Effect.flatMap((server) =>
      Effect.async<number>((resume) => {
        server.once("error", () => resume(Effect.succeed(0)))
        server.listen(wanted, host, () => {
          const address = server.address()
          resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0))
        })
      })
    )
  )

/** Counts the connections to one port of loopback. */
const canary = Effect.gen(function* () {
  let count = 0
  const reached = () => void count++
  const port = yield* listening("127.0.0.1", 0, reached)
  yield* listening("::1", port, reached)
  return { port, reached: () => count }
})

const services = (...allowPrivateHosts: ReadonlyArray<string>) => {
  const guard = { allowPrivateHosts, lookup }
  return Git.layerWith({ allowSsh: true }).pipe(
    Layer.provideMerge(WayOut.layerWith(guard)),
    Layer.provideMerge(Outbound.layerWith(guard))
  )
}

const refusedKind = (url: string) =>
  Effect.map(
    Effect.either(Effect.flatMap(Outbound, (outbound) => outbound.fetch(url))),
    Either.match({ onLeft: ({ kind }) => kind === "refused_address", onRight: () => false })
  )

/** Asks through an agent of the relay. A host that is no host at all makes a request that cannot be sent. */
const refusedByAgent = (module: typeof http | typeof https, url: string) =>
  Effect.flatMap(Outbound, (outbound) =>
    Effect.async<boolean>((resume) => {
      const agents = outbound.agents({})
      const agent = url.startsWith("https:") ? agents.https : agents.http
      const request = module.request(new URL(url), { agent }, () => resume(Effect.succeed(false)))
      request.on("error", (error) => resume(Effect.succeed("code" in error && error.code === "ERR_ADDRESS_REFUSED")))
      request.end()
    })
  )

const anyPlace = (privateHosts: boolean) =>
  Effect.flatMap(WayOut, (wayOut) => wayOut.open({ privateHosts, refusal: () => undefined }))

const refusedBy = (status: number) => status === 403 || status === 400

/** Every way by which a name that somebody chose becomes a connection of this machine. Each says if it refused. */
const doors = Effect.gen(function* () {
  const outbound = yield* Outbound
  const wayOut = yield* WayOut
  const named = yield* anyPlace(true)
  const open = yield* anyPlace(false)
  const forge = (url: string) =>
    askForge({ outbound, api: forgeHost(gitHub, url).api, token: Redacted.make("t"), headers: gitHub.headers })({
      method: "GET",
      path: "/user"
    }).pipe(
      Effect.either,
      Effect.map((end) => Either.isLeft(end) && "kind" in end.left && end.left.kind === "rejected")
    )
  const all: Readonly<Record<string, (place: string) => Effect.Effect<boolean, never, Outbound | Scope.Scope>>> = {
    "a gateway, a probe or a webhook through TLS": (place: string) => refusedKind(`https://${place}/v1/models`),
    "a gateway, a probe or a webhook without TLS": (place: string) => refusedKind(`http://${place}/v1/models`),
    "the relay through TLS": (place: string) => refusedByAgent(https, `https://${place}/`),
    "the relay without TLS": (place: string) => refusedByAgent(http, `http://${place}/`),
    "a forge": (place: string) => forge(`https://${place}`),
    "git or an agent that names the host": (place: string) =>
      Effect.map(tunnelTo(named, place), ({ status }) => refusedBy(status)),
    "an agent with an open network": (place: string) =>
      Effect.map(tunnelTo(open, place), ({ status }) => refusedBy(status)),
    "a page without TLS": (place: string) =>
      Effect.map(pageAt(named, `http://${place}/`), ({ status }) => refusedBy(status)),
    ssh: (place: string) => {
      const url = new URL(`http://${place}`)
      return Effect.map(
        Effect.either(wayOut.addressOf(url.hostname.replace(/^\[(.*)\]$/, "$1"), Number(url.port))),
        Either.isLeft
      )
    }
  }
  return all
})

describe("forbidden destinations", () => {
  it.scopedLive(
    "none of over 500 is reached, through any door, however it is spelled and whatever a name leads to",
    () =>
      Effect.gen(function* () {
        const { port, reached } = yield* canary
        let tried = 0
        for (const [door, isRefused] of Object.entries(yield* doors)) {
          for (const host of [...hosts, ...Object.keys(answers)]) {
            assert.isTrue(yield* Effect.scoped(isRefused(`${host}:${port}`)), `${door}: ${host}`)
            tried++
          }
        }
        assert.isAtLeast(tried, 500)
        assert.strictEqual(reached(), 0)
      }).pipe(Effect.provide(services())),
    60_000
  )

  it.scopedLive(
    "git reaches none either: by their addresses, by names, and by redirects of a host that it may ask",
    () =>
      Effect.gen(function* () {
        const { port, reached } = yield* canary
        const root = yield* temporary
        const gitDir = `${root}/trusted`
        let location = ""
        const server = yield* gitHttpServer(root, null, (_request, response) => {
          response.writeHead(302, { location }).end()
          return true
        })
        const outcomes = yield* Effect.gen(function* () {
          const git = yield* Git
          yield* git.init({ gitDir, workTree: `${root}/work` })
          const kindAt = (url: string) =>
            Effect.map(Effect.flip(git.remoteHead({ gitDir, url, branch: "main" })), ({ kind }) => kind)
          const before = yield* Effect.forEach(
            hosts.filter((host) => !/^localhost$/i.test(host)),
            (host) => kindAt(`https://${host}:${port}/a.git`)
          )
          const named = yield* Effect.forEach(["localhost", "loopback.example", "last.example"], (host) =>
            kindAt(`https://${host}:${port}/a.git`)
          )
          const led = yield* Effect.forEach(
            [`http://127.0.0.1:${port}`, `http://localhost:${port}`, `http://[::1]:${port}`, `http://169.254.169.254`],
            (origin) => {
              location = `${origin}/a.git/info/refs?service=git-upload-pack`
              return kindAt(`${server.url}/a.git`)
            }
          )
          return [...before, ...named, ...led]
        }).pipe(Effect.provide(services(new URL(server.url).host)))
        assert.deepStrictEqual([...new Set(outcomes)], ["remote_refused", "redirected"])
        assert.strictEqual(reached(), 0)
      }),
    60_000
  )
})
