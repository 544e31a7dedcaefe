import type { LookupFunction } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { destinationsOf, withGateway } from "@reins/machine/outbound/NetworkRules"
import { type Destinations, WayOut } from "@reins/machine/outbound/WayOut"
import { localServer } from "@reins/testing/connections/LocalServer"
import { Effect, Exit, Redacted, Scope } from "effect"
import { authorization, pageAt, say, tunnelTo } from "./ProxyClient.js"

const anywhere: Destinations = { privateHosts: true, refusal: () => undefined }
const allowing = (...allowPrivateHosts: ReadonlyArray<string>) => WayOut.layerWith({ allowPrivateHosts })
const open = (destinations: Destinations) => Effect.flatMap(WayOut, (wayOut) => wayOut.open(destinations))

describe("the way out", () => {
  it.scopedLive("opens a tunnel to an allowed host, through which bytes go both ways", () =>
    Effect.gen(function* () {
      const server = yield* localServer((_asked, response) => void response.end("hello"))
      const { socket, status } = yield* tunnelTo(yield* open(anywhere), `127.0.0.1:${server.port}`)
      assert.strictEqual(status, 200)
      const answer = yield* Effect.async<string>((resume) => {
        let text = ""
        socket.on("data", (data) => {
          text += data.toString()
        })
        socket.once("close", () => resume(Effect.succeed(text)))
        socket.write("GET /there HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
      })
      assert.match(answer, /^HTTP\/1\.1 200[\s\S]*hello/)
      assert.strictEqual(server.asked[0]?.path, "/there")
    }).pipe(Effect.provide(allowing("127.0.0.1")))
  )

  it.scopedLive("passes a request without TLS on to an allowed host only, without its own credentials", () =>
    Effect.gen(function* () {
      const server = yield* localServer((_asked, response) => void response.end("hello"))
      const passage = yield* open(anywhere)
      const { status, text } = yield* pageAt(passage, `${server.url}/a?b=c`)
      assert.strictEqual(status, 200)
      assert.include(text, "hello")
      assert.deepInclude(server.asked[0], { method: "GET", path: "/a?b=c" })
      assert.notProperty(server.asked[0]?.headers, "proxy-authorization")
      assert.strictEqual(server.asked[0]?.headers.host, `127.0.0.1:${server.port}`)
      const refused = yield* pageAt(passage, `http://localhost:${server.port}/`)
      assert.strictEqual(refused.status, 403)
      assert.include(refused.text, "without TLS")
      assert.lengthOf(server.asked, 1)
    }).pipe(Effect.provide(allowing("127.0.0.1")))
  )

  it.scopedLive("is open to nobody without the right name and password, and each has what it was given", () =>
    Effect.gen(function* () {
      const server = yield* localServer((_asked, response) => void response.end())
      const place = `127.0.0.1:${server.port}`
      const passage = yield* open(anywhere)
      const other = yield* open({ privateHosts: true, refusal: () => "Not for you." })
      const { password } = new URL(Redacted.value(passage.url))
      const { username } = new URL(Redacted.value(other.url))
      const basic = (text: string) => `Proxy-Authorization: Basic ${Buffer.from(text).toString("base64")}\r\n`
      for (const header of ["", basic(""), basic(":"), basic(`${username}:${password}`), basic("__proto__:x")]) {
        const { status, text } = yield* say(passage.port, `CONNECT ${place} HTTP/1.1\r\nHost: ${place}\r\n${header}`)
        assert.strictEqual(status, 407, header)
        assert.include(text, "proxy-authenticate: Basic")
        const page = yield* say(passage.port, `GET ${server.url}/ HTTP/1.1\r\nHost: x\r\n${header}`)
        assert.strictEqual(page.status, 407, header)
      }
      const refused = yield* tunnelTo(other, place)
      assert.strictEqual(refused.status, 403)
      assert.include(refused.text, "Not for you.")
      assert.strictEqual(other.refused(), "Not for you.")
      assert.isUndefined(passage.refused())
      assert.lengthOf(server.asked, 0)
    }).pipe(Effect.provide(allowing("127.0.0.1")))
  )

  it.scopedLive("closes with its scope, and its tunnels with it", () =>
    Effect.gen(function* () {
      const server = yield* localServer(() => undefined)
      const scope = yield* Scope.make()
      const passage = yield* Scope.extend(open(anywhere), scope)
      const { socket, status } = yield* tunnelTo(passage, `127.0.0.1:${server.port}`)
      assert.strictEqual(status, 200)
      const closed = Effect.async<void>((resume) => void socket.once("close", () => resume(Effect.void)))
      yield* Effect.all([closed, Scope.close(scope, Exit.void)], { concurrency: 2 })
      assert.strictEqual((yield* tunnelTo(passage, `127.0.0.1:${server.port}`)).status, 407)
    }).pipe(Effect.provide(allowing("127.0.0.1")))
  )

  it.scopedLive("looks a name up once, and connects to what it found", () =>
    Effect.gen(function* () {
      const server = yield* localServer(() => undefined)
      let lookups = 0
      const rebinding: LookupFunction = (_name, _options, found) => {
        lookups++
        found(null, [{ address: lookups === 1 ? "127.0.0.1" : "169.254.169.254", family: 4 }])
      }
      const guard = { allowPrivateHosts: ["rebinding.lan"], lookup: rebinding }
      yield* Effect.gen(function* () {
        assert.strictEqual((yield* tunnelTo(yield* open(anywhere), `rebinding.lan:${server.port}`)).status, 200)
      }).pipe(Effect.provide(WayOut.layerWith(guard)))
      assert.strictEqual(lookups, 1)
    })
  )

  it.scopedLive("refuses what is no place, and says of a host that cannot be reached that it cannot", () =>
    Effect.gen(function* () {
      const passage = yield* open(anywhere)
      for (const authority of ["x", "x:0", "x:65536", ":443", "http://x:443", "a@x:443", "x/y:443", "[::1:443"])
        assert.strictEqual((yield* tunnelTo(passage, authority)).status, 400, authority)
      for (const url of ["https://x/", "/", "ftp://x/"])
        assert.strictEqual((yield* pageAt(passage, url)).status, 400, url)
      assert.strictEqual((yield* tunnelTo(passage, "127.0.0.1:1")).status, 502)
      const upgraded = `GET http://127.0.0.1/ HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: x\r\n${authorization(passage)}`
      assert.strictEqual((yield* say(passage.port, upgraded)).status, 0)
    }).pipe(Effect.provide(allowing("127.0.0.1")))
  )
})

describe("the network of a project", () => {
  const reaches = (access: Parameters<typeof destinationsOf>[0], host: string, port = 443) =>
    destinationsOf(access)?.refusal(host, port) === undefined

  it("is nothing, the hosts of a list, or the public Internet", () => {
    assert.isUndefined(destinationsOf("none"))
    assert.isTrue(reaches("open", "anything.example", 8080))
    assert.isFalse(destinationsOf("open")?.privateHosts)
    const list = ["registry.example", "*.github.com", "gitlab.lan:8443"]
    for (const host of ["registry.example", "api.github.com", "a.b.github.com"])
      assert.isTrue(reaches(list, host), host)
    for (const host of [
      "github.com",
      "evilgithub.com",
      "github.com.evil.example",
      "registry.example.evil.example",
      "sub.registry.example",
      "registry.example.",
      "gitlab.lan"
    ])
      assert.isFalse(reaches(list, host), host)
    assert.isTrue(reaches(list, "gitlab.lan", 8443))
    assert.isFalse(reaches(list, "registry.example", 80))
    assert.isFalse(reaches(list, "registry.example", 22))
  })
})

it("the gateway of a model is reached whatever the project allows, on its own port alone", () => {
  const gateway = new URL("https://models.example/v1")
  const reaches = (access: Parameters<typeof destinationsOf>[0], host: string, port = 443) =>
    withGateway(gateway, destinationsOf(access)).refusal(host, port) === undefined
  assert.isTrue(reaches("none", "models.example"))
  assert.isFalse(reaches("none", "models.example", 8443))
  assert.isFalse(reaches("none", "other.example"))
  assert.isTrue(reaches(["other.example"], "other.example"))
  assert.isTrue(reaches(["other.example"], "models.example"))
  assert.isFalse(reaches(["other.example"], "third.example"))
  assert.isFalse(withGateway(gateway, destinationsOf("open")).privateHosts)
  assert.isTrue(withGateway(new URL("http://127.0.0.1:99/v1"), undefined).refusal("127.0.0.1", 99) === undefined)
})
