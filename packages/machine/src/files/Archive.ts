import { createHash } from "node:crypto"
import type { FileHandle } from "node:fs/promises"
import { Header, Pax } from "tar"
import type { DiskEntry } from "./TreeReader.js"

// Owns the form of an archive: an uncompressed tar whose entries belong to parts, `<part>/<path>`. It does not know the meaning of a part.

/** One part of an archive. The digest covers the name, kind, mode and content of each entry, in their order. */
export interface PartSummary {
  readonly entries: number
  readonly bytes: number
  readonly digest: string
}

const blockBytes = 512
const pieceBytes = 1024 * 1024

const paddingOf = (size: number): number => (blockBytes - (size % blockBytes)) % blockBytes

/** Sums up the entries of a part while they are read or written. The writer's and the reader's sums of the same part are equal. */
export const partDigest = () => {
  const hash = createHash("sha256")
  let entries = 0
  let bytes = 0
  return {
    begin: (entry: Omit<DiskEntry, "mtime" | "content">) => {
      entries++
      bytes += entry.size
      hash.update(`${entry.type}\0${entry.path}\0${entry.mode.toString(8)}\0${entry.size}\0${entry.linkpath}\n`)
    },
    content: (piece: Uint8Array) => void hash.update(piece),
    end: (): PartSummary => ({ entries, bytes, digest: `sha256:${hash.digest("hex")}` })
  }
}

/** Writes an archive into an open file, from its beginning. Readers refuse an archive that was not finished. */
export const archiveWriter = (file: FileHandle) => {
  const write = async (bytes: Uint8Array) => {
    let done = 0
    while (done < bytes.length) done += (await file.write(bytes, done)).bytesWritten
  }
  const writeHeader = async (path: string, entry: DiskEntry) => {
    const fields = {
      path,
      mode: entry.mode,
      size: entry.size,
      mtime: entry.mtime,
      type: entry.type,
      ...(entry.type === "SymbolicLink" && { linkpath: entry.linkpath })
    }
    const header = new Header(fields)
    if (header.encode()) await write(new Pax(fields).encode())
    if (header.block === undefined) throw new Error(`no header for ${path}`)
    await write(header.block)
  }
  /** Fills up a file that has become shorter and cuts one that has grown, because the header already holds its size. */
  const writeContent = async (entry: DiskEntry, seen: (piece: Uint8Array) => void) => {
    let left = entry.size
    const put = async (piece: Uint8Array) => {
      const taken = piece.subarray(0, left)
      left -= taken.length
      seen(taken)
      await write(taken)
    }
    if (entry.content !== undefined) for await (const piece of entry.content()) await put(piece)
    while (left > 0) await put(Buffer.alloc(Math.min(left, pieceBytes)))
    await write(Buffer.alloc(paddingOf(entry.size)))
  }
  const end = () => write(Buffer.alloc(2 * blockBytes))
  return {
    /** Writes the entries of one part, and gives back their sum. */
    writePart: async (part: string, entries: AsyncIterable<DiskEntry>): Promise<PartSummary> => {
      const digest = partDigest()
      for await (const entry of entries) {
        digest.begin(entry)
        await writeHeader(`${part}/${entry.path}`, entry)
        await writeContent(entry, digest.content)
      }
      return digest.end()
    },
    /** Writes the end mark. */
    end,
    /** Writes the last entry and the end mark. */
    finish: async (name: string, text: string) => {
      const content = Buffer.from(text)
      const entry: DiskEntry = {
        path: name,
        type: "File",
        mode: 0o600,
        size: content.length,
        linkpath: "",
        mtime: new Date(),
        content: async function* () {
          yield content
        }
      }
      await writeHeader(name, entry)
      await writeContent(entry, () => undefined)
      await end()
    }
  }
}

/** The archive is cut off, or is not the archive that was written. */
export class ArchiveDamaged extends Error {}

/** An entry of an archive. Its content can be read until the next entry is asked for. */
export interface ArchivedEntry extends Omit<DiskEntry, "content"> {
  readonly content: () => AsyncGenerator<Uint8Array>
}

/** The entries of an archive, in their order. Contents that the caller does not request are not read. Throws `ArchiveDamaged`. */
export async function* readArchive(file: FileHandle): AsyncGenerator<ArchivedEntry> {
  let at = 0
  const read = async (length: number): Promise<Buffer> => {
    const bytes = Buffer.alloc(length)
    let filled = 0
    while (filled < length) {
      const { bytesRead } = await file.read(bytes, filled, length - filled, at + filled)
      if (bytesRead === 0) throw new ArchiveDamaged("it ends in the middle")
      filled += bytesRead
    }
    at += length
    return bytes
  }
  for (;;) {
    let block = await read(blockBytes)
    let header = new Header(block)
    if (header.nullBlock) return
    let extended: Pax | undefined
    if (header.cksumValid && header.type === "ExtendedHeader") {
      const size = header.size ?? 0
      const body = await read(size + paddingOf(size))
      extended = Pax.parse(body.subarray(0, size).toString("utf8"))
      block = await read(blockBytes)
      header = new Header(block)
    }
    const { mode = 0, mtime = new Date(0), type } = header
    const path = extended?.path ?? header.path ?? ""
    const size = extended?.size ?? header.size ?? 0
    if (!header.cksumValid || (type !== "File" && type !== "Directory" && type !== "SymbolicLink"))
      throw new ArchiveDamaged("an entry cannot be read")
    const start = at
    const end = start + size
    yield {
      path: path.replace(/\/$/, ""),
      type,
      mode,
      size,
      mtime,
      linkpath: type === "SymbolicLink" ? (extended?.linkpath ?? header.linkpath ?? "") : "",
      content: async function* () {
        at = start
        while (at < end) yield await read(Math.min(pieceBytes, end - at))
      }
    }
    at = end + paddingOf(size)
  }
}
