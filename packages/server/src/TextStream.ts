import type { ServerResponse } from "node:http"
import { Effect, Stream } from "effect"
import type { Exchange } from "./http/Exchange.js"
import { headerLines, Reply } from "./http/Reply.js"

/**
 * Writes texts to the response of an exchange as they come, and no faster than the client reads. A client learns from the broken connection that
 * its answer is not whole. The reply has the status for the metrics.
 */
export const writeTexts = <E>(
  exchange: Exchange,
  texts: Stream.Stream<string, E>,
  headers: Readonly<Record<string, string>>
): Effect.Effect<Reply> =>
  Effect.gen(function* () {
    const { request, response } = exchange
    response.writeHead(200, headerLines(exchange, headers))
    if (request.method !== "HEAD") yield* Stream.runForEach(texts, (text) => write(response, text))
    response.end()
    return new Reply(200)
  }).pipe(
    Effect.onError(() => Effect.sync(() => exchange.response.destroy())),
    // The answer has begun, so no other one can tell of the failure.
    Effect.catchAll(() => Effect.succeed(new Reply(200)))
  )

/** Takes the next text once the client has read enough. A client that goes away ends the request, and this with it. */
const write = (response: ServerResponse, text: string): Effect.Effect<void> =>
  Effect.async((resume) => {
    if (response.write(text)) return resume(Effect.void)
    const go = () => resume(Effect.void)
    response.once("drain", go)
    return Effect.sync(() => response.off("drain", go))
  })
