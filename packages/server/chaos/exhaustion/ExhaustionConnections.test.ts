import { readdirSync } from "node:fs"
import { eventually } from "@reins/testing/process/Waiting"
import { assert, it } from "vitest"
import { requestSeconds } from "../Volume.js"
import { close, type Line, openMany } from "./Lines.js"
import { withLoneServer } from "./LoneServer.js"
import { staysWell } from "./Vitals.js"

const patience = { env: { REINS_REQUEST_SECONDS: String(requestSeconds) } }

const slowHeaders = "GET /healthz HTTP/1.1\r\nhost: reins\r\nx-slow: "

it("a server with few file descriptors keeps some for its own work, and takes connections again once there are", () =>
  withLoneServer(
    async ({ client, server, sessionId }) => {
      const lines = await openMany(server, 400, () => slowHeaders)
      const isRefused = (line: Line) => line.isClosed()
      await eventually("some are refused", () => lines.some(isRefused))
      assert.isBelow(readdirSync(`/proc/${server.pid}/fd`).length, 256 - 32)
      close(lines)
      const read = () => client.sessions.get({ session_id: sessionId }).catch(() => undefined)
      await eventually("it answers again", read)
      // Files and git need descriptors too.
      await client.sessions.uploadFile({ session_id: sessionId, path: "a.txt", content: "a" })
      assert.strictEqual((await client.sessions.getFile({ session_id: sessionId, path: "a.txt" })).content, "a")
      assert.notInclude(server.log(), "EMFILE")
    },
    { launcher: ["sh", "-c", 'ulimit -n 256 && exec "$0" "$@"'] }
  ))

it("a thousand event streams that rest each get the next event", () =>
  withLoneServer(async ({ apiKey, client, server, sessionId }) => {
    const head = `GET /api/sessions/${sessionId}/events HTTP/1.1\r\nhost: reins\r\naccept: text/event-stream\r\n`
    const lines = await openMany(server, 1000, () => `${head}authorization: Bearer ${apiKey}\r\n\r\n`)
    const allHave = (words: string) => eventually(words, () => lines.every((line) => line.heard().includes(words)))
    await allHave(": watermark ")
    await staysWell(server, async () => {
      await client.messages.send({ session_id: sessionId, content: "For everybody.", routing: "note" })
      await allHave("For everybody.")
    })
    assert.isFalse(lines.some((line) => line.isClosed()))
    close(lines)
  }))

it("two thousand connections that send slowly are ended with 408 while others are served", () =>
  withLoneServer(async ({ apiKey, client, server, sessionId }) => {
    const slowBody =
      "POST /api/auth/login HTTP/1.1\r\nhost: reins\r\ncontent-type: application/json\r\n" +
      `authorization: Bearer ${apiKey}\r\nidempotency-key: k\r\ncontent-length: 10000\r\n\r\n{"email":"`
    await staysWell(server, async () => {
      const lines = await openMany(server, 2000, (index) => (index % 2 === 0 ? slowHeaders : slowBody))
      // One more byte now and then, so that none of them rests.
      const drip = setInterval(() => {
        for (const { socket } of lines) if (socket.writable) socket.write("a")
      }, 2000)
      try {
        await eventually("all are ended", async () => {
          assert.strictEqual((await client.sessions.get({ session_id: sessionId })).id, sessionId)
          return lines.every((line) => line.isClosed())
        })
      } finally {
        clearInterval(drip)
        close(lines)
      }
      const told = lines.filter((line) => line.heard().startsWith("HTTP/1.1 408 ")).length
      const other = lines.find((line) => line.heard() !== "" && !line.heard().startsWith("HTTP/1.1 408 "))
      assert.isUndefined(other, other?.heard())
      for (const line of lines) if (line.heard() !== "") assert.include(line.heard(), '"code":"request_timeout"')
      process.stderr.write(`${told} of ${lines.length} were told 408\n`)
      assert.isAbove(told, 0)
    })
  }, patience))
