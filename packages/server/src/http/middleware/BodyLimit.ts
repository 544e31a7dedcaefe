import type { HttpApp } from "@effect/platform"
import { NodeHttpServerRequest } from "@effect/platform-node"
import { RequiredScope, TakesFile } from "@reins/core/api/Endpoint"
import { type CoreLimits, uploadBodyBytes } from "@reins/core/CoreLimits"
import { ReinsError } from "@reins/core/domain/ReinsError"
import { Context, Effect, Option } from "effect"
import { Exchange, type ExchangeState } from "../Exchange.js"
import { shareOf, smallBytes } from "./BodyMemory.js"

/**
 * The most bytes that the body of an endpoint may have, by its annotations. What anybody may send is never large enough to be held up
 * or to hold up others, so that nobody without an account can keep those who have one from sending.
 */
export const maxBodyBytes = (annotations: Context.Context<never>, limits: CoreLimits): number => {
  if (Option.contains(Context.getOption(annotations, RequiredScope), "public"))
    return Math.min(smallBytes, limits.jsonBodyBytes)
  return Option.isSome(Context.getOption(annotations, TakesFile)) ? uploadBodyBytes(limits) : limits.jsonBodyBytes
}

/** Refuses a body that says of itself that no endpoint takes it, by its size or its encoding, before any of it is read. */
export const bodyLimit =
  (limits: CoreLimits) =>
  <E, R>(app: HttpApp.Default<E, R>): HttpApp.Default<E | ReinsError, R | Exchange> =>
    Effect.flatMap(Exchange, (exchange): HttpApp.Default<E | ReinsError, R> => {
      const { headers } = exchange.request
      const encoding = headers["content-encoding"]
      if (encoding !== undefined && encoding.trim().toLowerCase() !== "identity")
        return refuse(exchange, unsupported(encoding))
      return Effect.zipRight(checkLength(exchange, Math.max(limits.jsonBodyBytes, uploadBodyBytes(limits))), app)
    })

/** Fails for a body that says of itself that it is larger than the limit, before any of it is read. */
export const checkLength = (exchange: ExchangeState, limit: number): Effect.Effect<void, ReinsError> =>
  Number(exchange.request.headers["content-length"] ?? 0) > limit ? refuse(exchange, tooLarge(limit)) : Effect.void

/** The body of a request. Reading stops at the limit, which a chunked body reaches without having said so. */
export const readBody = (exchange: ExchangeState, limit: number): Effect.Effect<Buffer, ReinsError> =>
  Effect.async<Buffer, ReinsError>((resume) => {
    const incoming = NodeHttpServerRequest.toIncomingMessage(exchange.request)
    const response = NodeHttpServerRequest.toServerResponse(exchange.request)
    if (incoming.headers.expect !== undefined) response.writeContinue()
    const share = shareOf(incoming)
    response.once("close", share.release)
    const chunks: Array<Buffer> = []
    let size = 0
    const onData = (chunk: Buffer) => {
      size += chunk.length
      chunks.push(chunk)
      share.take(chunk.length)
      if (size > limit) {
        stop()
        resume(refuse(exchange, tooLarge(limit)))
      }
    }
    const onEnd = () => {
      stop()
      const [only] = chunks
      const body = only !== undefined && chunks.length === 1 ? only : Buffer.concat(chunks)
      chunks.length = 0
      resume(Effect.succeed(body))
    }
    // The connection is gone: nobody is left to answer.
    const onError = () => {
      stop()
      resume(Effect.interrupt)
    }
    const stop = () => {
      incoming.off("data", onData).off("end", onEnd).off("error", onError).off("aborted", onError)
      incoming.pause()
      share.complete()
    }
    incoming.on("data", onData).on("end", onEnd).on("error", onError).on("aborted", onError)
    return Effect.sync(stop)
  })

/** The rest of the body stays unread, so the connection cannot be used again. */
const refuse = (exchange: ExchangeState, error: ReinsError) => {
  exchange.headers.set("connection", "close")
  return Effect.fail(error)
}

const tooLarge = (limit: number) =>
  new ReinsError({
    code: "payload_too_large",
    message: `The body is larger than ${limit} bytes. Send less, or in parts.`,
    details: { limit_bytes: limit }
  })

const unsupported = (encoding: string) =>
  new ReinsError({
    code: "unsupported_media_type",
    message: "Bodies are read as they are. Send the body without a Content-Encoding.",
    details: { content_encoding: encoding.slice(0, 100) }
  })
