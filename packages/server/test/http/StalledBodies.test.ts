import { connect, type Socket } from "node:net"
import { assert, layer } from "@effect/vitest"
import { Server } from "@reins/server/Server"
import { Effect } from "effect"
import { Caller, change, service } from "../Service.js"

/** Begins a body and never ends it. */
const stall = (url: string, authorization: string, bytes: number) =>
  Effect.async<Socket>((resume) => {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    socket.on("error", () => {})
    const head =
      "POST /api/api-keys HTTP/1.1\r\nhost: x\r\nidempotency-key: k\r\ncontent-type: application/json\r\n" +
      `authorization: ${authorization}\r\ncontent-length: ${1024 * 1024}\r\n\r\n`
    socket.write(head + "x".repeat(bytes), () => resume(Effect.succeed(socket)))
  })

layer(service(), { excludeTestServices: true })("while many large bodies are begun and not ended", (it) => {
  it.effect("small ones are answered", () =>
    Effect.gen(function* () {
      const { bearer } = yield* Caller
      const { url } = yield* Server
      const sockets = yield* Effect.forEach([1, ...Array.from({ length: 40 }, () => 1024 * 1024 - 1)], (bytes) =>
        stall(url, bearer.authorization, bytes)
      )
      for (let index = 0; index < 20; index++) {
        const reply = yield* change("POST", "/api/api-keys", {
          headers: bearer,
          body: { name: "x".repeat(index + 1) }
        })
        assert.strictEqual(reply.status, 201)
      }
      for (const socket of sockets) socket.destroy()
    })
  )
})
