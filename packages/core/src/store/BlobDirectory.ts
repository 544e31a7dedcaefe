import { randomBytes } from "node:crypto"
import * as fs from "node:fs/promises"
import { join } from "node:path"
import { Effect, Stream } from "effect"
import { BlobError, type BlobStore } from "./BlobStore.js"

const codeOf = (cause: unknown): string =>
  cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : ""

const failure = (cause: unknown): BlobError => {
  const code = codeOf(cause)
  if (code === "ENOENT")
    return new BlobError({ reason: "missing", message: "The directory of blobs does not hold it." })
  if (code === "ENOSPC" || code === "EDQUOT")
    return new BlobError({ reason: "full", message: "The directory of blobs is full: make room on its disk." })
  if (code === "EACCES" || code === "EPERM" || code === "EROFS")
    return new BlobError({
      reason: "refused",
      message: `The directory of blobs cannot be used (${code}): give it to the user of the server.`
    })
  return new BlobError({
    reason: "unavailable",
    message: `The directory of blobs cannot be used (${code === "" ? "unknown reason" : code}): check its disk.`
  })
}

const attempt = <A>(run: () => Promise<A>) => Effect.tryPromise({ try: run, catch: failure })

const pieceBytes = 1024 * 1024

/** Makes a change of names in a directory last. */
const flush = async (directory: string): Promise<void> => {
  const handle = await fs.open(directory)
  await handle.sync().finally(() => handle.close())
}

/**
 * Blobs as files of a directory, which machines may share: 256 directories, and in each the files by their digests. A file gets its name when all
 * of it is on the disk.
 */
export const blobDirectory = (root: string): BlobStore => {
  const folderOf = (hex: string): string => join(root, hex.slice(0, 2))
  const pathOf = (hex: string): string => join(folderOf(hex), hex)

  const write = async (hex: string, content: AsyncIterable<Uint8Array>): Promise<void> => {
    const folder = folderOf(hex)
    await fs.mkdir(folder, { recursive: true, mode: 0o700 })
    const partial = join(folder, `.${hex}.${randomBytes(6).toString("hex")}.partial`)
    const file = await fs.open(partial, "wx", 0o600)
    try {
      try {
        for await (const piece of content) await file.writeFile(piece)
        await file.sync()
      } finally {
        await file.close()
      }
      await fs.rename(partial, pathOf(hex))
    } catch (cause) {
      await fs.rm(partial, { force: true })
      throw cause
    }
    await flush(folder)
    await flush(root)
  }

  return {
    maxBytes: Number.POSITIVE_INFINITY,
    write: ({ hex }, content) => attempt(() => write(hex, content)),
    read: (hex) =>
      Stream.unwrapScoped(
        Effect.map(
          Effect.acquireRelease(
            attempt(() => fs.open(pathOf(hex))),
            (file) => Effect.promise(() => file.close())
          ),
          (file) =>
            Stream.fromAsyncIterable<Uint8Array, BlobError>(
              file.createReadStream({ highWaterMark: pieceBytes, autoClose: false }),
              failure
            )
        )
      ),
    has: (hex) =>
      attempt(() =>
        fs.stat(pathOf(hex)).then(
          () => true,
          (cause: unknown) => {
            if (codeOf(cause) === "ENOENT") return false
            throw cause
          }
        )
      ),
    remove: (hex) => attempt(() => fs.rm(pathOf(hex), { force: true }))
  }
}
