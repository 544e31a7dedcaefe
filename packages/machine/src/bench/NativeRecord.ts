import { promisify } from "node:util"
import { gzip } from "node:zlib"
import { Effect } from "effect"
import type { Harness } from "../harness/Harness.js"
import type { Manifest } from "../harness/Manifest.js"
import type { NativeRecord } from "./AgentOrder.js"

/** Reads the agent's own state below a home, twice: its content has to match its digest, and a turn may begin meanwhile. */
export const readRecord = Effect.fnUntraced(function* (
  harness: Harness["Type"],
  manifest: Manifest,
  home: string,
  maxBytes: number
): Effect.fn.Return<NativeRecord> {
  const { digest, files } = yield* harness.nativeState(manifest, home)
  if (digest === null) return { _tag: "none" }
  const size = files.reduce((sum, file) => sum + file.size, 0)
  if (size > maxBytes) return { _tag: "large", size }
  const contents = new Map<string, Array<Uint8Array>>(files.map((file) => [file.path, []]))
  let taken = 0
  const again = yield* harness.nativeState(manifest, home, (path, piece) => {
    // A turn that has begun meanwhile may write without end, so the content is cut at the limit.
    taken += piece.length
    if (taken <= maxBytes) contents.get(path)?.push(piece)
  })
  if (again.digest !== digest) return { _tag: "moved" }
  return { _tag: "whole", archive: yield* archiveOf(contents), digest, files }
})

const blockBytes = 512

/** The files as a compressed tar. Equal contents give the same bytes. */
const archiveOf = (contents: ReadonlyMap<string, ReadonlyArray<Uint8Array>>) =>
  Effect.promise(async () => {
    const tar = await import("tar")
    const entries = [...contents].flatMap(([path, pieces]) => {
      const content = Buffer.concat(pieces)
      return [...headerOf(tar, path, content.length), content, Buffer.alloc(-content.length & (blockBytes - 1))]
    })
    return promisify(gzip)(Buffer.concat([...entries, Buffer.alloc(2 * blockBytes)]))
  })

const headerOf = ({ Header, Pax }: typeof import("tar"), path: string, size: number): ReadonlyArray<Buffer> => {
  const fields = { path, size, mode: 0o600, mtime: new Date(0), type: "File" as const }
  const header = new Header(fields)
  const needsMore = header.encode()
  if (header.block === undefined) throw new Error(`no header for ${path}`)
  return needsMore ? [new Pax(fields).encode(), header.block] : [header.block]
}
