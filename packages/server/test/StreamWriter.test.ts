import { createServer } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Frame } from "@reins/core/events/Audience"
import { StreamWriter } from "@reins/server/StreamWriter"

const frame = new Frame({ seq: 7, type: "usage.observed", turn_id: null, envelope: "{}" })

describe("StreamWriter", () => {
  it("takes nothing more after its end, whoever comes with something", async () => {
    const failures: Array<unknown> = []
    const taken: Array<unknown> = []
    const server = createServer((_, response) => {
      response.on("error", (error) => failures.push(error))
      const writer = new StreamWriter(response, () => {}, 1000)
      taken.push(writer.sink([frame], 7))
      writer.end("max_seconds", 7)
      taken.push(writer.sink([frame], 8))
      writer.delta(frame.bytes)
      writer.heartbeat()
      writer.close()
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    const text = await (await fetch(`http://127.0.0.1:${port}`)).text()
    await new Promise((resolve) => server.close(resolve))
    assert.strictEqual(
      text,
      `id: 7\nevent: usage.observed\ndata: {}\n\nevent: stream.end\ndata: {"reason":"max_seconds","next_after":7}\n\n`
    )
    assert.deepStrictEqual(taken, [true, false])
    assert.deepStrictEqual(failures, [])
  })
})
