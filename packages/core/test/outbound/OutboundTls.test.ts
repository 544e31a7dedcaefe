import { execFile } from "node:child_process"
import { writeFileSync } from "node:fs"
import type { LookupFunction } from "node:net"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Outbound } from "@reins/machine/outbound/Outbound"
import { tlsServer } from "@reins/testing/connections/TlsServer"
import { temporary } from "@reins/testing/git/Fixture"
import { Effect, Schema } from "effect"

// The authorities that a process trusts are settled when it starts, so that each of these requests is made by a process of its own.
const script = `
import { Outbound } from "@reins/core/internal/outbound/Outbound"
import { Effect } from "effect"
const [url] = process.argv.slice(1)
const fetch = Effect.flatMap(Outbound, (outbound) => outbound.fetch(url))
const allowed = Outbound.layerWith({ allowPrivateHosts: [new URL(url).host] })
console.log(JSON.stringify(await Effect.runPromise(Effect.either(Effect.provide(fetch, allowed)))))
`

const Outcome = Schema.parseJson(
  Schema.Union(
    Schema.Struct({ _tag: Schema.Literal("Right"), right: Schema.Struct({ status: Schema.Int, body: Schema.String }) }),
    Schema.Struct({
      _tag: Schema.Literal("Left"),
      left: Schema.Struct({ kind: Schema.String, message: Schema.String })
    })
  )
)

/** The result of a process that trusts the certificate besides the well-known authorities. */
const fetchTrusting = (cert: string | undefined, url: string) =>
  Effect.gen(function* () {
    const file = join(yield* temporary, "authority.pem")
    if (cert !== undefined) writeFileSync(file, cert)
    const printed = yield* Effect.async<string, Error>((resume) => {
      const options = {
        cwd: fileURLToPath(new URL("../..", import.meta.url)),
        env: { PATH: process.env["PATH"], ...(cert !== undefined && { NODE_EXTRA_CA_CERTS: file }) }
      }
      execFile(process.execPath, ["--input-type=module", "--eval", script, url], options, (error, out) =>
        resume(error === null ? Effect.succeed(out) : Effect.fail(error))
      )
    })
    return yield* Schema.decodeUnknown(Outcome)(printed)
  })

describe("a request through TLS", () => {
  it.scopedLive("is answered where an authority that the process trusts vouches for the name", () =>
    Effect.gen(function* () {
      const server = yield* tlsServer(["localhost"], (_, response) => void response.end("hello"))
      const outcome = yield* fetchTrusting(server.cert, `https://localhost:${server.port}/v1`)
      assert.deepStrictEqual(outcome, { _tag: "Right", right: { status: 200, body: "hello" } })
      assert.strictEqual(server.seen.requests, 1)
    })
  )

  it.scopedLive("is not sent where nobody vouches, or for another name", () =>
    Effect.gen(function* () {
      const server = yield* tlsServer(["another.example"], (_, response) => void response.end("hello"))
      for (const cert of [undefined, server.cert]) {
        const outcome = yield* fetchTrusting(cert, `https://localhost:${server.port}/v1`)
        assert.deepNestedPropertyVal(outcome, "left.kind", "tls")
      }
      assert.deepStrictEqual(server.seen, { connections: 2, requests: 0 })
    })
  )

  it.scopedLive("does not follow a redirect", () =>
    Effect.gen(function* () {
      const server = yield* tlsServer(["localhost"], (request, response) => {
        response.writeHead(request.url === "/" ? 307 : 200, { location: "/elsewhere" }).end()
      })
      const outcome = yield* fetchTrusting(server.cert, `https://localhost:${server.port}/`)
      assert.deepNestedPropertyVal(outcome, "left.kind", "redirect")
      assert.strictEqual(server.seen.requests, 1)
    })
  )
})

const resolved = (address: string) => ({ address, family: address.includes(":") ? 6 : 4 })

const fetchWith = (lookup: LookupFunction, url: string) =>
  Effect.flatMap(Outbound, (outbound) => outbound.fetch(url, {}, { timeoutMs: 2000 })).pipe(
    Effect.provide(Outbound.layerWith({ allowPrivateHosts: [], lookup })),
    Effect.flip
  )

describe("a name that leads elsewhere at every look", () => {
  it.scopedLive("is looked up once: what was public when it was checked is what is connected to", () =>
    Effect.gen(function* () {
      const server = yield* tlsServer(["rebinding.example"], (_, response) => void response.end())
      let looks = 0
      const rebinding: LookupFunction = (_name, _options, found) => {
        looks++
        // A public address where nobody answers.
        found(null, [resolved(looks === 1 ? "192.88.98.1" : "127.0.0.1")])
      }
      const error = yield* fetchWith(rebinding, `https://rebinding.example:${server.port}/`)
      assert.include(["unreachable", "timeout"], error.kind)
      assert.strictEqual(looks, 1)
      assert.strictEqual(server.seen.connections, 0)
    })
  )

  it.scopedLive("is left when the connection has another address than the one that was checked", () =>
    Effect.gen(function* () {
      const server = yield* tlsServer(["rebinding.example"], (_, response) => void response.end())
      let reads = 0
      const turning = {
        family: 4,
        get address() {
          return ++reads === 1 ? "1.1.1.1" : "127.0.0.1"
        }
      }
      const error = yield* fetchWith(
        (_name, _options, found) => found(null, [turning]),
        `https://rebinding.example:${server.port}/`
      )
      assert.strictEqual(error.kind, "refused_address")
      assert.isAbove(reads, 1)
      assert.strictEqual(server.seen.requests, 0)
    })
  )

  it.live("is refused for each kind of address that is not public, whatever it is written as", () =>
    Effect.gen(function* () {
      const hidden = [
        "169.254.169.254",
        "::ffff:169.254.169.254",
        "::ffff:7f00:1",
        "::127.0.0.1",
        "::a9fe:a9fe",
        "fe80::1",
        "fd00:ec2::254",
        "100.100.100.200",
        "64:ff9b::a9fe:a9fe",
        "0.0.0.0",
        "::"
      ]
      for (const address of hidden) {
        for (const addresses of [[address], ["1.1.1.1", address]]) {
          const error = yield* fetchWith(
            (_name, _options, found) => found(null, addresses.map(resolved)),
            "https://metadata.example/"
          )
          assert.strictEqual(error.kind, "refused_address", address)
        }
      }
    })
  )
})
