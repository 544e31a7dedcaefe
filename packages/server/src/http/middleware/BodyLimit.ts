import { type CoreLimits, uploadBodyBytes } from "@reins/base/base/CoreLimits"
import { cutText } from "@reins/base/base/CutText"
import { RequiredScope, TakesFile } from "@reins/base/domain/Endpoint"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { Context, Effect, Option } from "effect"
import type { Exchange } from "../Exchange.js"
import { shareOf, smallBytes } from "./BodyMemory.js"

/** The refusals of a body, before or while it is read. */
export type TooLarge = ReinsError<"payload_too_large">

/**
 * The most bytes that the body of an endpoint may have, by its annotations. The body of a public endpoint is too small to be held up or to
 * hold up others, so that nobody without an account can keep those who have one from sending.
 */
export const maxBodyBytes = (annotations: Context.Context<never>, limits: CoreLimits): number => {
  if (Option.contains(Context.getOption(annotations, RequiredScope), "public"))
    return Math.min(smallBytes, limits.jsonBodyBytes)
  return Option.isSome(Context.getOption(annotations, TakesFile)) ? uploadBodyBytes(limits) : limits.jsonBodyBytes
}

/** The error for a body whose headers show that no endpoint takes it. Nothing of the body is read for that. */
export const refusalOfBody = (
  exchange: Exchange,
  limits: CoreLimits
): TooLarge | ReinsError<"unsupported_media_type"> | undefined => {
  const encoding = exchange.header("content-encoding")
  return encoding !== undefined && encoding.trim().toLowerCase() !== "identity"
    ? refused(exchange, unsupported(encoding))
    : refusalOfLength(exchange, Math.max(limits.jsonBodyBytes, uploadBodyBytes(limits)))
}

/** The error for a body whose `Content-Length` is beyond the limit. Nothing of the body is read for that. */
export const refusalOfLength = (exchange: Exchange, limit: number): TooLarge | undefined =>
  Number(exchange.header("content-length") ?? 0) > limit ? refused(exchange, tooLarge(limit)) : undefined

/**
 * The body of a request. Reading stops at the limit, which a chunked body can reach without having announced it. With `isKept` false the body is read and
 * forgotten, and an empty one is given.
 */
export const readBody = (exchange: Exchange, limit: number, isKept = true): Effect.Effect<Buffer, TooLarge> =>
  Effect.async<Buffer, TooLarge>((resume) => {
    const { request: incoming, response } = exchange
    if (incoming.headers.expect !== undefined) response.writeContinue()
    const share = shareOf(incoming)
    response.once("close", share.release)
    const chunks: Array<Buffer> = []
    let size = 0
    const onData = (chunk: Buffer) => {
      size += chunk.length
      if (isKept) {
        chunks.push(chunk)
        share.take(chunk.length)
      }
      if (size > limit) {
        stop()
        resume(Effect.fail(refused(exchange, tooLarge(limit))))
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

/** Closes the connection after the answer. The rest of the body stays unread, so the connection cannot be used again. */
const refused = <E extends ReinsError>(exchange: Exchange, error: E): E => {
  exchange.headers["connection"] = "close"
  return error
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
    details: { content_encoding: cutText(encoding, 100) }
  })
