import { inItsTurn } from "@reins/base/base/EventLoop"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { Effect } from "effect"
import { invalid } from "./FileFailures.js"
import type { FileUpload } from "./FilesApi.js"

/** The number of bytes that are compared at once. It is a multiple of three, as base64 takes them; comparing all at once would copy the whole text. */
const pieceBytes = 3 * 256 * 1024

/** True for the one base64 text of the bytes. Buffer reads other texts too, and drops what it cannot read. */
const isBase64Of = (bytes: Buffer, text: string): boolean => {
  const lengthOf = (size: number) => Math.ceil(size / 3) * 4
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    const piece = bytes.toString("base64", at, at + pieceBytes)
    if (!text.startsWith(piece, lengthOf(at))) return false
  }
  return text.length === lengthOf(bytes.length)
}

/** The bytes of an upload. Fails for a content that its encoding cannot hold, and above `maxBytes`. */
export const bytesOfUpload = Effect.fnUntraced(function* ({ content, encoding }: FileUpload, maxBytes: number) {
  const bytes = yield* inItsTurn(content.length, () => Buffer.from(content, encoding === "base64" ? "base64" : "utf8"))
  if (bytes.length > maxBytes) {
    return yield* new ReinsError({
      code: "payload_too_large",
      message: `A file may have ${maxBytes} bytes; this one has ${bytes.length}.`,
      details: { limit_bytes: maxBytes, size: bytes.length }
    })
  }
  const isWhole = () => (encoding === "base64" ? isBase64Of(bytes, content) : !/\p{Surrogate}/u.test(content))
  if (yield* inItsTurn(content.length, isWhole)) return bytes
  return yield* invalid(
    "body",
    "content",
    encoding === "base64"
      ? "it is not standard base64 with padding and without line breaks"
      : "it holds half of a surrogate pair, which UTF-8 cannot hold",
    content.slice(0, 100)
  )
})
