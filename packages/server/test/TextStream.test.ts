import { createServer, get, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { text as readAll } from "node:stream/consumers"
import { assert, describe, it } from "@effect/vitest"
import { Exchange } from "@reins/server/http/Exchange"
import { InProcess } from "@reins/server/http/InProcess"
import { writeTexts } from "@reins/server/TextStream"
import { eventually } from "@reins/testing/process/Waiting"
import { Effect, Exit, type Fiber, Stream } from "effect"

/** A server that answers each request with texts. */
const serving = (texts: Stream.Stream<string, string>) =>
  Effect.gen(function* () {
    let fiber: Fiber.RuntimeFiber<unknown> | undefined
    const answer = (request: IncomingMessage, response: ServerResponse) => {
      const exchange = new Exchange(request, response, (peer) => peer, ["x-common", "yes"], new InProcess(answer))
      fiber = Effect.runFork(writeTexts(exchange, texts, { "content-type": "text/plain" }))
      // As the listener does.
      response.once("close", () => {
        if (!response.writableEnded) fiber?.unsafeInterruptAsFork(fiber.id())
      })
    }
    const server = yield* Effect.acquireRelease(
      Effect.async<ReturnType<typeof createServer>>((resume) => {
        const open = createServer(answer)
        open.listen(0, "127.0.0.1", () => resume(Effect.succeed(open)))
      }),
      (open) =>
        Effect.async<void>((resume) => {
          open.closeAllConnections()
          open.close(() => resume(Effect.void))
        })
    )
    const { port } = server.address() as AddressInfo
    return { port, ended: () => fiber?.unsafePoll() ?? null }
  })

/** A request to such a server, whose answer nobody reads yet. */
const asked = (texts: Stream.Stream<string, string>) =>
  Effect.gen(function* () {
    const { ended, port } = yield* serving(texts)
    const response = yield* Effect.async<IncomingMessage>((resume) => {
      get({ host: "127.0.0.1", port }, (got) => resume(Effect.succeed(got.pause())))
    })
    return { response, ended }
  })

describe("writeTexts", () => {
  it.scopedLive("sends all of the texts, with the headers of the exchange", () =>
    Effect.gen(function* () {
      const { response } = yield* asked(Stream.make("one ", "two ", "three"))
      assert.strictEqual(response.statusCode, 200)
      assert.deepInclude(response.headers, { "x-common": "yes", "content-type": "text/plain" })
      assert.strictEqual(yield* Effect.promise(() => readAll(response)), "one two three")
    })
  )

  it.scopedLive("takes no more than its client reads, and nothing more once the client is gone", () =>
    Effect.gen(function* () {
      let taken = 0
      const endless = Stream.repeatEffect(
        Effect.sync(() => {
          taken += 1
          return "x".repeat(64 * 1024)
        })
      )
      const { ended, response } = yield* asked(endless)
      let before = -1
      // The buffers of the connection are full once nothing is taken for a while.
      yield* Effect.promise(() =>
        eventually("nothing is taken", () => {
          const isStill = taken === before
          before = taken
          return isStill
        })
      )
      assert.isBelow(taken, 1_000)
      response.destroy()
      yield* Effect.promise(() => eventually("the writing ends", () => ended() !== null))
      assert.isTrue(Exit.isInterrupted(ended() ?? Exit.void))
    })
  )

  it.scopedLive("breaks the connection off when the texts fail, so that nobody takes a part for all", () =>
    Effect.gen(function* () {
      const { port } = yield* serving(Stream.concat(Stream.make("a part"), Stream.fail("gone")))
      const ask = async () => (await fetch(`http://127.0.0.1:${port}/`)).text()
      const read = yield* Effect.either(Effect.tryPromise(ask))
      assert.strictEqual(read._tag, "Left")
    })
  )
})
