import { once } from "node:events"
import { createServer, request } from "node:http"
import type { AddressInfo } from "node:net"
import { setImmediate } from "node:timers/promises"
import { assert, it } from "@effect/vitest"
import { sendAnswer } from "@reins/machine/relay/mcp/Send"
import fc from "fast-check"

/** A piece, and the turns of the event loop before it. */
interface Piece {
  readonly text: string
  readonly after: number
}

/** The answer as a client gets it. `isWhole` is false for one that broke off. */
const received = async (pieces: ReadonlyArray<Piece>, end?: Error) => {
  const stream = async function* () {
    for (const { after, text } of pieces) {
      for (let left = after; left > 0; left--) await setImmediate()
      yield new TextEncoder().encode(text)
    }
    if (end !== undefined) throw end
  }
  const body = pieces.length === 0 && end === undefined ? null : ReadableStream.from(stream())
  // The endpoint breaks the connection of an answer that breaks off, too.
  const server = createServer((_, response) => {
    sendAnswer(new Response(body, { status: 202 }), response).catch(() => response.destroy())
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const asked = request({ host: "127.0.0.1", port: (server.address() as AddressInfo).port, agent: false }).end()
  try {
    const [answer] = await once(asked, "response")
    let text = ""
    for await (const chunk of answer) text += chunk
    return { status: answer.statusCode, text, isWhole: true }
  } catch {
    return { isWhole: false }
  } finally {
    server.close()
  }
}

const piece = fc.record({ text: fc.string({ unit: "grapheme", maxLength: 40 }), after: fc.nat(3) })

it("every piece of an answer arrives once and in order, whenever it comes", () =>
  fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 8 }), async (pieces) => {
      const text = pieces.map((each) => each.text).join("")
      assert.deepStrictEqual(await received(pieces), { status: 202, text, isWhole: true })
    }),
    { numRuns: 200 }
  ))

it("an answer that breaks off is no whole answer to the client", async () => {
  for (const pieces of [[], [{ text: "half", after: 0 }], [{ text: "half", after: 2 }]])
    assert.isFalse((await received(pieces, new Error("broken"))).isWhole)
})
