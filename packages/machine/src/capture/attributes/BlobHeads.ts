import { Effect } from "effect"
import { git } from "../../repository/run/GitCommand.js"
import { type GitError, readOutput } from "../../repository/run/GitError.js"
import type { GitOptionsShape } from "../../repository/run/GitOptions.js"

/** The size of a content, and its first bytes. */
export interface BlobHead {
  readonly size: number
  readonly head: Buffer
}

/** Longer than any line of `cat-file` before a content. */
const maxHeader = 100

/**
 * Reads the output of `cat-file --batch`, piece by piece, and keeps the first bytes of each content. `end` throws at anything but the blobs that
 * were asked for, in their order.
 */
export const headReader = (ids: ReadonlyArray<string>, most: number) => {
  const found = new Map<string, BlobHead>()
  let header = ""
  let wrong = false
  let reading: { readonly id: string; readonly size: number; readonly head: Buffer; at: number } | undefined
  const begin = () => {
    const [, id = "", size = ""] = /^([0-9a-f]{40}) blob (\d+)$/.exec(header) ?? []
    if (id === "" || id !== ids[found.size]) wrong = true
    else reading = { id, size: Number(size), head: Buffer.alloc(Math.min(Number(size), most)), at: 0 }
    header = ""
  }
  const take = (chunk: Buffer): void => {
    let at = 0
    while (at < chunk.length && !wrong) {
      if (reading === undefined) {
        const end = chunk.indexOf("\n", at)
        header += chunk.toString("latin1", at, end < 0 ? chunk.length : end)
        at = end < 0 ? chunk.length : end + 1
        if (header.length > maxHeader) wrong = true
        else if (end >= 0) begin()
        continue
      }
      const piece = chunk.subarray(at, at + reading.size - reading.at)
      if (reading.at < most) piece.copy(reading.head, reading.at)
      reading.at += piece.length
      at += piece.length
      if (at === chunk.length) break
      // A line feed ends each content.
      if (chunk[at++] !== 0x0a) wrong = true
      found.set(reading.id, { size: reading.size, head: reading.head })
      reading = undefined
    }
  }
  const end = (): ReadonlyMap<string, BlobHead> => {
    if (wrong || header !== "" || reading !== undefined || found.size !== ids.length) {
      throw new Error("not the blobs that were asked for")
    }
    return found
  }
  return { take, end }
}

/** The sizes and the first bytes of blobs by their ids. No process is started for none. */
export const blobHeads = (
  options: GitOptionsShape,
  gitDir: string,
  of: Iterable<string>,
  most: number
): Effect.Effect<ReadonlyMap<string, BlobHead>, GitError> =>
  Effect.suspend(() => {
    const ids = [...new Set(of)]
    if (ids.length === 0) return Effect.succeed<ReadonlyMap<string, BlobHead>>(new Map())
    const reader = headReader(ids, most)
    return git({
      args: ["cat-file", "--batch"],
      gitDir,
      stdin: Buffer.from(ids.map((id) => `${id}\n`).join("")),
      maxStdoutBytes: Number.POSITIVE_INFINITY,
      onStdout: reader.take,
      timeoutMs: options.localTimeoutMs
    }).pipe(Effect.zipRight(readOutput("cat-file", reader.end)))
  })
