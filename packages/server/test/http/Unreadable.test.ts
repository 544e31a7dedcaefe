import { connect } from "node:net"
import { assert, layer } from "@effect/vitest"
import { errorKinds } from "@reins/base/domain/ReinsError"
import { Server } from "@reins/server/Server"
import { Effect, Schema } from "effect"
import { service } from "../Service.js"

/** All that comes of a connection that these bytes are sent on. */
const converse = (bytes: string) =>
  Effect.flatMap(Server, ({ url }) =>
    Effect.async<string>((resume) => {
      const { hostname, port } = new URL(url)
      let heard = ""
      const socket = connect(Number(port), hostname)
      socket.on("data", (chunk) => {
        heard += String(chunk)
      })
      socket.on("error", () => {})
      socket.once("close", () => resume(Effect.succeed(heard)))
      socket.write(bytes)
    })
  )

const ErrorBody = Schema.decodeUnknownSync(
  Schema.parseJson(
    Schema.Struct({
      error: Schema.Struct({ code: Schema.String, category: Schema.String, request_id: Schema.String })
    })
  )
)

const halves = (heard: string) => {
  const [head = "", body = ""] = heard.split("\r\n\r\n")
  return { head: head.toLowerCase(), body }
}

const cases = [
  ["what is no HTTP", "hello, is anybody there?\r\n\r\n", "malformed_request"],
  ["a TLS greeting", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "malformed_request"],
  ["a header with a line break in its name", "GET /healthz HTTP/1.1\r\nho\nst: x\r\n\r\n", "malformed_request"],
  ["a length that is none", "POST /healthz HTTP/1.1\r\nhost: x\r\ncontent-length: 1x\r\n\r\n", "malformed_request"],
  [
    "headers beyond 16 KiB",
    `GET /healthz HTTP/1.1\r\nhost: x\r\nx-long: ${"a".repeat(17_000)}\r\n\r\n`,
    "headers_too_large"
  ]
] as const

layer(service(), { excludeTestServices: true })("what no request can be made of", (it) => {
  for (const [name, bytes, code] of cases) {
    it.effect(`is answered with the envelope: ${name}`, () =>
      Effect.gen(function* () {
        const { body, head } = halves(yield* converse(bytes))
        const { error } = ErrorBody(body)
        assert.deepStrictEqual([error.code, error.category], [code, errorKinds[code].category])
        assert.match(head, new RegExp(`^http/1.1 ${errorKinds[code].status} `))
        assert.include(head, `x-request-id: ${error.request_id}`)
        assert.include(head, "connection: close")
      })
    )
  }

  it.effect("does not pass for the answer to the request before it", () =>
    Effect.gen(function* () {
      const heard = yield* converse("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n\r\nnonsense\r\n\r\n")
      assert.notMatch(heard, /^HTTP\/1.1 400/)
    })
  )

  it.effect("is no expectation that is not known: the request is served", () =>
    Effect.gen(function* () {
      const heard = yield* converse(
        "GET /healthz HTTP/1.1\r\nhost: x\r\nexpect: a-miracle\r\nconnection: close\r\n\r\n"
      )
      assert.match(heard, /^HTTP\/1.1 200 /)
    })
  )
})
