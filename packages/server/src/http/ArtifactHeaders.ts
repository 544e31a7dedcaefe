import { basename } from "node:path"
import { cutText } from "@reins/base/base/CutText"
import type { Artifact } from "@reins/core/artifacts/Artifact"
import { isShownInPlace } from "@reins/core/artifacts/MediaTypes"

/**
 * The headers of the content of an artifact. A browser shows the images that run nothing. It saves everything else, and would run none of it.
 * `x-content-type-options: nosniff` is a header of every answer.
 */
export const contentHeaders = ({ media_type, path }: Pick<Artifact, "media_type" | "path">) => ({
  "content-type": media_type,
  "content-disposition": `${isShownInPlace(media_type) ? "inline" : "attachment"}; ${fileName(path)}`,
  "content-security-policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin"
})

/** The name twice, as RFC 6266 says: in ASCII for old clients, and whole in UTF-8. */
const fileName = (path: string): string => {
  const name = cutText(basename(path), 200)
  const plain = name.replace(/[^\w.-]/g, "_")
  // Half of a character has no form in UTF-8.
  const whole = encodeURIComponent(Buffer.from(name).toString()).replace(
    /['()*]/g,
    (each) => `%${each.charCodeAt(0).toString(16)}`
  )
  return `filename="${plain}"; filename*=UTF-8''${whole}`
}
