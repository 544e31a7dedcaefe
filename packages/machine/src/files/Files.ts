import { createHash, type Hash } from "node:crypto"
import * as fs from "node:fs/promises"
import { fn } from "@reins/base/base/Traced"
import { Context, DateTime, Effect, Layer, Schema } from "effect"
import {
  attempt,
  type BeneathError,
  inDirectory,
  type OpenDirectory,
  type OpenFile,
  readUpTo,
  replaceFile,
  withFile
} from "./Beneath.js"
import { hardLinksOf } from "./HardLinks.js"
import { nameText } from "./NameText.js"
import { isGitName, PathRefused, parseWorkspacePath } from "./WorkspacePath.js"

/** Nothing is at the path, or the workspace folder is absent. */
export class FileNotFound extends Schema.TaggedError<FileNotFound>()("FileNotFound", { path: Schema.String }) {}

/** The path names a directory, and the operation needs a file. */
export class NotAFile extends Schema.TaggedError<NotAFile>()("NotAFile", { path: Schema.String }) {}

/** The path, or a part of it, names a file, and the operation needs a directory. */
export class NotADirectory extends Schema.TaggedError<NotADirectory>()("NotADirectory", { path: Schema.String }) {}

/** The file has another digest than the writer expected. `actual` is its digest, or `absent`. Nothing was written. */
export class FileDigestMismatch extends Schema.TaggedError<FileDigestMismatch>()("FileDigestMismatch", {
  path: Schema.String,
  expected: Schema.String,
  actual: Schema.String
}) {}

/** The file system refused or failed: permissions (`denied`), space, a read-only disk, or hardware (`failed`). */
export class FileAccessFailed extends Schema.TaggedError<FileAccessFailed>()("FileAccessFailed", {
  path: Schema.String,
  reason: Schema.Literal("denied", "disk_full", "read_only", "failed")
}) {}

/** The failures of every operation on files. */
export type FileError = PathRefused | FileNotFound | NotAFile | NotADirectory | FileAccessFailed

/** An entry of a directory. `name` is as `nameText` writes it, `size` is in bytes, `mode` the permission bits in octal, as in `0644`. `other` is a FIFO, socket or device. */
export interface DirectoryEntry {
  readonly name: string
  readonly path: string
  readonly type: "file" | "directory" | "symlink" | "other"
  readonly size: number
  readonly mode: string
  readonly modified_at: DateTime.Utc
}

/** The content of a file: as text when it is valid UTF-8, else in base 64. `digest` is of the whole file, also when `content` is cut; null above 1 GiB. */
export interface FileRead {
  readonly path: string
  readonly encoding: "utf-8" | "base64"
  readonly content: string
  readonly size: number
  readonly digest: string | null
  readonly truncated: boolean
}

/** A file as it was written. `size` is in bytes, `digest` is `sha256:<hex>`. */
export interface FileWritten {
  readonly path: string
  readonly size: number
  readonly digest: string
}

/** The condition and the mode of a write. */
export interface WriteOptions {
  /** The write takes place only if the file has this digest. With `absent` it takes place only if nothing is at the path. */
  readonly expectedDigest?: string
  /** Permission bits. Default: those of the file that is replaced, else 0644. */
  readonly mode?: number
}

/** The most that `read` gives of a file unless the caller says otherwise, in bytes. */
export const maxFileReadBytes = 10 * 1024 * 1024

const maxItems = 10_000
const maxHashedBytes = 1024 * 1024 * 1024
const chunkBytes = 1024 * 1024
const smallBytes = 4096

/**
 * The files of a workspace that a hostile process may change at any moment. Every component is opened beneath the root
 * without following a symbolic link, and a repository's own directory is never listed, read or written.
 */
export class Files extends Context.Tag("@reins/core/files/Files")<
  Files,
  {
    /**
     * The entries of one directory (default: the root), sorted by name. At most 10,000, and then `truncated`.
     */
    readonly list: (
      root: string,
      path?: string
    ) => Effect.Effect<{ readonly items: ReadonlyArray<DirectoryEntry>; readonly truncated: boolean }, FileError>
    /**
     * The content of a regular file, cut at `maxBytes` (default 10 MiB). A file with a second name outside the root (a hard link) is refused.
     * A write puts a new file in its place.
     */
    readonly read: (root: string, path: string, maxBytes?: number) => Effect.Effect<FileRead, FileError>
    /**
     * Puts a regular file at the path in one step, with the directories that it needs. It is on disk for certain when it succeeds.
     * Conditional writes through this service exclude each other. Against other processes only the condition `absent` is exact.
     */
    readonly write: (
      root: string,
      path: string,
      bytes: Uint8Array,
      options?: WriteOptions
    ) => Effect.Effect<FileWritten, FileError | FileDigestMismatch>
  }
>() {
  static readonly layer: Layer.Layer<Files> = Layer.effect(
    Files,
    Effect.gen(function* () {
      const conditional = yield* Effect.makeSemaphore(1)
      return Files.of({
        list: fn("Files.list")((root: string, path = "") => list(root, path)),
        read: fn("Files.read")((root: string, path: string, maxBytes = maxFileReadBytes) => read(root, path, maxBytes)),
        write: fn("Files.write")((root: string, path: string, bytes: Uint8Array, options: WriteOptions = {}) => {
          const written = write(root, path, bytes, options)
          return options.expectedDigest === undefined ? written : conditional.withPermits(1)(written)
        })
      })
    })
  )
}

const fileError =
  (path: string) =>
  (error: BeneathError): FileError => {
    switch (error.reason) {
      case "missing":
        return new FileNotFound({ path })
      case "link":
        return new PathRefused({ path, reason: "symlink" })
      case "hard_link":
        return new PathRefused({ path, reason: "hard_link" })
      case "not_a_file":
        return new PathRefused({ path, reason: "special_file" })
      case "not_a_directory":
        return new NotADirectory({ path })
      case "exists":
        return new NotAFile({ path })
      case "denied":
      case "disk_full":
      case "read_only":
      case "failed":
        return new FileAccessFailed({ path, reason: error.reason })
    }
  }

const typeOf = (stat: Awaited<ReturnType<typeof fs.lstat>>): DirectoryEntry["type"] =>
  stat.isFile() ? "file" : stat.isDirectory() ? "directory" : stat.isSymbolicLink() ? "symlink" : "other"

const itemOf = async (directory: OpenDirectory, path: string, raw: Buffer): Promise<DirectoryEntry | null> => {
  // An entry may vanish between the listing and the look at it.
  const stat = await fs.lstat(directory.entry(raw)).catch(() => null)
  if (stat === null) return null
  const name = nameText(raw)
  return {
    name,
    path: path === "" ? name : `${path}/${name}`,
    type: typeOf(stat),
    size: stat.size,
    mode: (stat.mode & 0o7777).toString(8).padStart(4, "0"),
    modified_at: DateTime.unsafeMake(Math.floor(stat.mtimeMs))
  }
}

const namesIn = async (directory: OpenDirectory): Promise<ReadonlyArray<Buffer>> => {
  const names: Array<Buffer> = []
  // latin1 keeps every byte of a name that is not UTF-8.
  const entries = await fs.opendir(directory.entry("."), { encoding: "latin1" })
  for await (const entry of entries) {
    const raw = Buffer.from(entry.name, "latin1")
    if (!isGitName(raw.toString("utf8"))) names.push(raw)
    if (names.length > maxItems) break
  }
  return names.sort(Buffer.compare)
}

const list = Effect.fnUntraced(function* (root: string, path: string) {
  const names = path === "" ? [] : yield* parseWorkspacePath(path)
  return yield* inDirectory(root, names, { create: false }, (directory) =>
    Effect.gen(function* () {
      const found = yield* attempt(path, () => namesIn(directory))
      const items = yield* Effect.forEach(
        found.slice(0, maxItems),
        (raw) => attempt(raw, () => itemOf(directory, path, raw)),
        { concurrency: 16 }
      )
      return { items: items.filter((item) => item !== null), truncated: found.length > maxItems }
    })
  ).pipe(Effect.catchTag("BeneathError", (error) => Effect.fail(fileError(path)(error))))
})

// Tells a directory from a special file after an open that failed, because some systems open directories for reading and some do not.
const refineNotAFile = (directory: OpenDirectory, name: Buffer, path: string, error: BeneathError) =>
  error.reason !== "not_a_file"
    ? Effect.fail(fileError(path)(error))
    : Effect.flatMap(
        Effect.orElseSucceed(
          attempt(name, () => fs.lstat(directory.entry(name))),
          () => null
        ),
        (stat) => Effect.fail(stat?.isDirectory() === true ? new NotAFile({ path }) : fileError(path)(error))
      )

const hashRest = async (
  handle: fs.FileHandle,
  hash: Hash,
  from: number,
  { interrupted, size }: OpenFile
): Promise<number> => {
  // One byte more than is expected tells the end of a file at once. A large buffer for each small file keeps the collector busy.
  const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, Math.max(smallBytes, size - from + 1)))
  let position = from
  while (position <= maxHashedBytes && !interrupted()) {
    const { bytesRead } = await handle.read(chunk, 0, chunk.length, position)
    if (bytesRead === 0) break
    hash.update(chunk.subarray(0, bytesRead))
    position += bytesRead
  }
  return position
}

// A cut through a character leaves up to three bytes of it. They are dropped from text, never from binary content.
const decodeText = (bytes: Buffer, truncated: boolean): string | null => {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
  try {
    return decoder.decode(bytes, { stream: truncated })
  } catch {
    return null
  }
}

const contentOf = (path: string, bytes: Buffer, size: number, digest: string | null): FileRead => {
  const truncated = size > bytes.length
  const text = decodeText(bytes, truncated)
  const content = text === null ? bytes.toString("base64") : text
  return { path, encoding: text === null ? "base64" : "utf-8", content, size, digest, truncated }
}

const read = Effect.fnUntraced(function* (root: string, path: string, maxBytes: number) {
  const segments = yield* parseWorkspacePath(path)
  const name = segments.at(-1) ?? Buffer.alloc(0)
  return yield* inDirectory(root, segments.slice(0, -1), { create: false }, (directory) =>
    withFile(
      directory,
      name,
      async (handle, file) => {
        const bytes = await readUpTo(handle, file.size, maxBytes)
        const hash = createHash("sha256").update(bytes)
        const end = await hashRest(handle, hash, bytes.length, file)
        const whole = end <= maxHashedBytes
        const size = whole ? end : (await handle.stat()).size
        return contentOf(path, bytes, size, whole ? `sha256:${hash.digest("hex")}` : null)
      },
      hardLinksOf(root)
    ).pipe(Effect.catchTag("BeneathError", (error) => refineNotAFile(directory, name, path, error)))
  ).pipe(Effect.catchTag("BeneathError", (error) => Effect.fail(fileError(path)(error))))
})

interface Existing {
  readonly digest: string
  readonly mode: number
}

const openExisting = (root: string, directory: OpenDirectory, name: Buffer, path: string, hashed: boolean) =>
  withFile(
    directory,
    name,
    async (handle, file): Promise<Existing | null> => {
      const hash = createHash("sha256")
      if (hashed) await hashRest(handle, hash, 0, file)
      return { digest: `sha256:${hash.digest("hex")}`, mode: file.mode & 0o777 }
    },
    hashed ? hardLinksOf(root) : undefined
  ).pipe(
    Effect.catchTag("BeneathError", (error) =>
      error.reason === "missing" ? Effect.succeed(null) : refineNotAFile(directory, name, path, error)
    )
  )

const mismatch = (path: string, expected: string, existing: Existing | null) =>
  new FileDigestMismatch({ path, expected, actual: existing?.digest ?? "absent" })

const write = Effect.fnUntraced(function* (root: string, path: string, bytes: Uint8Array, options: WriteOptions) {
  const segments = yield* parseWorkspacePath(path)
  const name = segments.at(-1) ?? Buffer.alloc(0)
  const expected = options.expectedDigest
  return yield* inDirectory(root, segments.slice(0, -1), { create: true }, (directory) =>
    Effect.gen(function* () {
      const existing = yield* openExisting(root, directory, name, path, expected !== undefined)
      if (expected !== undefined && expected !== (existing?.digest ?? "absent")) {
        return yield* mismatch(path, expected, existing)
      }
      const mode = (options.mode ?? existing?.mode ?? 0o644) & 0o777
      yield* replaceFile(directory, name, bytes, { mode, exclusive: expected === "absent" }).pipe(
        Effect.catchTag("BeneathError", (error) =>
          error.reason === "exists" && expected === "absent"
            ? Effect.flatMap(openExisting(root, directory, name, path, true), (now) =>
                Effect.fail(mismatch(path, expected, now))
              )
            : Effect.fail(fileError(path)(error))
        )
      )
      return { path, size: bytes.length, digest: `sha256:${createHash("sha256").update(bytes).digest("hex")}` }
    })
  ).pipe(Effect.catchTag("BeneathError", (error) => Effect.fail(fileError(path)(error))))
})
