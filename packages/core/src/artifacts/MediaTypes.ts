import { isUtf8 } from "node:buffer"

/** The images that browsers show, which run nothing. SVG is none of them, because it may hold scripts. */
const shown = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"] as const

/** Every media type that an artifact may have. */
export const mediaTypes: ReadonlyArray<string> = [...shown, "application/pdf", "text/plain", "application/octet-stream"]

/** True for a content that a browser may show in place. */
export const isShownInPlace = (mediaType: string): boolean => shown.some((each) => each === mediaType)

const startsWith = (bytes: Buffer, text: string, at = 0): boolean =>
  bytes.subarray(at, at + text.length).equals(Buffer.from(text, "latin1"))

/** The media type of a content by its bytes. */
export const mediaTypeIn = (bytes: Buffer): string => {
  if (startsWith(bytes, "\x89PNG\r\n\x1a\n")) return "image/png"
  if (startsWith(bytes, "\xff\xd8\xff")) return "image/jpeg"
  if (startsWith(bytes, "GIF87a") || startsWith(bytes, "GIF89a")) return "image/gif"
  if (startsWith(bytes, "RIFF") && startsWith(bytes, "WEBP", 8)) return "image/webp"
  if (startsWith(bytes, "ftypavif", 4) || startsWith(bytes, "ftypavis", 4)) return "image/avif"
  if (startsWith(bytes, "%PDF-")) return "application/pdf"
  return isUtf8(bytes) && !bytes.includes(0) ? "text/plain; charset=utf-8" : "application/octet-stream"
}
