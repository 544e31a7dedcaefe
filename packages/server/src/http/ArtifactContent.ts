import type { Artifact, ContentPart } from "@reins/core/artifacts/Artifact"
import { Effect } from "effect"
import { contentHeaders } from "./ArtifactHeaders.js"
import { Reply } from "./Reply.js"

/** The headers of a request that say which part of a content is wanted, and under which condition. */
export interface PartRequest {
  readonly range: string | undefined
  readonly ifRange: string | undefined
  readonly ifNoneMatch: string | undefined
}

/**
 * Answers a request for the content of an artifact (RFC 9110, 13 and 14). A client that has it gets 304. One range of bytes gets 206, and 416 where
 * it begins behind the end. Everything else gets the whole. A content never changes, so its digest is its tag. `read` reads the sent part alone.
 */
export const contentReply = <E>(
  artifact: Artifact,
  asked: PartRequest,
  read: (part?: ContentPart) => Effect.Effect<Buffer, E>
): Effect.Effect<Reply, E> => {
  const tag = `"${artifact.digest.slice("sha256:".length)}"`
  const headers = {
    ...contentHeaders(artifact),
    etag: tag,
    "accept-ranges": "bytes",
    "cache-control": "private, no-cache"
  }
  if (asked.ifNoneMatch !== undefined && names(asked.ifNoneMatch, tag))
    return Effect.succeed(new Reply(304, null, headers))
  const { size } = artifact
  const isSame = asked.ifRange === undefined || asked.ifRange.trim() === tag
  const range = isSame ? rangeOf(asked.range, size) : "whole"
  if (range === "whole") return Effect.map(read(), (bytes) => new Reply(200, bytes, headers))
  if (range === "outside")
    return Effect.succeed(new Reply(416, null, { ...headers, "content-range": `bytes */${size}` }))
  const part = { ...headers, "content-range": `bytes ${range.first}-${range.last}/${size}` }
  return Effect.map(read(range), (bytes) => new Reply(206, bytes, part))
}

const names = (header: string, tag: string): boolean =>
  header.split(",").some((each) => each.trim() === "*" || each.trim().replace(/^W\//, "") === tag)

/** The part that a range names. A range that is no range of bytes, or several of them, count as none. */
const rangeOf = (header: string | undefined, size: number): "whole" | "outside" | ContentPart => {
  const [, from = "", to = ""] = /^bytes=(\d*)-(\d*)$/.exec(header?.replaceAll(/\s/g, "") ?? "") ?? []
  if (from === "" && to === "") return "whole"
  if (from === "")
    return Number(to) === 0 || size === 0 ? "outside" : { first: Math.max(0, size - Number(to)), last: size - 1 }
  if (to !== "" && Number(to) < Number(from)) return "whole"
  if (Number(from) >= size) return "outside"
  return { first: Number(from), last: to === "" ? size - 1 : Math.min(Number(to), size - 1) }
}
