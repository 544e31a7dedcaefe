import { createHash } from "node:crypto"
import { promisify } from "node:util"
import { gzip } from "node:zlib"
import { Effect } from "effect"
import type { Exchange } from "./Exchange.js"
import { Reply } from "./Reply.js"

/** A file that is the same for everybody, compressed once. Clients that have it are told so. */
export interface CachedFile {
  /** The start of the digest of its content. */
  readonly digest: string
  /** The answer to a request for it. */
  readonly answer: (exchange: Exchange) => Reply
}

/** `immutable` is for a file whose name holds its digest, so that another content has another name. */
export const cachedFile = (
  content: string,
  headers: Readonly<Record<string, string>>,
  { immutable = false }: { readonly immutable?: boolean } = {}
): Effect.Effect<CachedFile> =>
  Effect.map(
    Effect.promise(() => promisify(gzip)(content)),
    (compressed) => {
      const digest = createHash("sha256").update(content).digest("hex").slice(0, 16)
      const common = {
        ...headers,
        etag: `"${digest}"`,
        vary: "accept-encoding",
        "cache-control": immutable ? "public, max-age=31536000, immutable" : "no-cache"
      }
      const plain = new Reply(200, content, common)
      const zipped = new Reply(200, compressed, { ...common, "content-encoding": "gzip" })
      const known = new Reply(304, null, common)
      return {
        digest,
        answer: (exchange) =>
          knows(exchange, digest) ? known : takesGzip(exchange.header("accept-encoding")) ? zipped : plain
      }
    }
  )

const knows = (exchange: Exchange, digest: string): boolean =>
  (exchange.header("if-none-match") ?? "").split(",").some((tag) => tag.trim().replace(/^W\//, "") === `"${digest}"`)

/** True when an `Accept-Encoding` allows gzip. */
export const takesGzip = (accepted = ""): boolean => {
  const codings = accepted.split(",").map((coding) => coding.split(";").map((part) => part.trim().toLowerCase()))
  const [, ...terms] = codings.find(([name]) => name === "gzip") ??
    codings.find(([name]) => name === "*") ?? ["", "q=0"]
  return !terms.some((term) => /^q\s*=\s*0(?:\.0*)?$/.test(term))
}
