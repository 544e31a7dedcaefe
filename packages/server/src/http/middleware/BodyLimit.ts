import type { HttpApp } from "@effect/platform"
import { NodeHttpServerRequest } from "@effect/platform-node"
import { ReinsError } from "@reins/core/domain/ReinsError"
import { Effect } from "effect"
import { Exchange, type ExchangeState } from "../Exchange.js"

/** The most bytes that a JSON body may have. */
export const jsonBodyBytes = 1024 * 1024

/** Refuses a body that says of itself that it is too large or compressed, before any of it is read. */
export const bodyLimit = <E, R>(app: HttpApp.Default<E, R>): HttpApp.Default<E | ReinsError, R | Exchange> =>
  Effect.flatMap(Exchange, (exchange): HttpApp.Default<E | ReinsError, R> => {
    const { headers } = exchange.request
    const encoding = headers["content-encoding"]
    if (encoding !== undefined && encoding.trim().toLowerCase() !== "identity")
      return refuse(exchange, unsupported(encoding))
    return Number(headers["content-length"] ?? 0) > jsonBodyBytes ? refuse(exchange, tooLarge) : app
  })

/** The body of a request. Reading stops at the limit, which a chunked body reaches without having said so. */
export const readBody = (exchange: ExchangeState): Effect.Effect<Buffer, ReinsError> =>
  Effect.async<Buffer, ReinsError>((resume) => {
    const incoming = NodeHttpServerRequest.toIncomingMessage(exchange.request)
    const chunks: Array<Buffer> = []
    let size = 0
    const onData = (chunk: Buffer) => {
      size += chunk.length
      chunks.push(chunk)
      if (size > jsonBodyBytes) {
        stop()
        resume(refuse(exchange, tooLarge))
      }
    }
    const onEnd = () => {
      stop()
      resume(Effect.succeed(Buffer.concat(chunks)))
    }
    // The connection is gone: nobody is left to answer.
    const onError = () => {
      stop()
      resume(Effect.interrupt)
    }
    const stop = () => {
      incoming.off("data", onData).off("end", onEnd).off("error", onError).off("aborted", onError)
      incoming.pause()
    }
    incoming.on("data", onData).on("end", onEnd).on("error", onError).on("aborted", onError)
    return Effect.sync(stop)
  })

/** The rest of the body stays unread, so the connection cannot be used again. */
const refuse = (exchange: ExchangeState, error: ReinsError) => {
  exchange.headers.set("connection", "close")
  return Effect.fail(error)
}

const tooLarge = new ReinsError({
  code: "payload_too_large",
  message: `The body is larger than ${jsonBodyBytes} bytes. Send less, or in parts.`,
  details: { limit_bytes: jsonBodyBytes }
})

const unsupported = (encoding: string) =>
  new ReinsError({
    code: "unsupported_media_type",
    message: "Bodies are read as they are. Send the body without a Content-Encoding.",
    details: { content_encoding: encoding.slice(0, 100) }
  })
