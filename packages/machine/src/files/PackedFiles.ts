import { createHash } from "node:crypto"
import { constants, createReadStream, createWriteStream } from "node:fs"
import * as fs from "node:fs/promises"
import { pipeline } from "node:stream/promises"
import { createGunzip, createGzip, gunzipSync, gzipSync } from "node:zlib"
import { Effect } from "effect"
import { type ArchivedEntry, archiveWriter, readArchive } from "./Archive.js"
import { attempt, type BeneathError, inDirectory } from "./Beneath.js"
import { pathBytes, pathNames } from "./NameText.js"
import type { DiskEntry } from "./TreeReader.js"

// Writes files into compressed archives, and such archives into folders. A folder may hold links that lead out of it, so nothing is written through one.

/** Some entries under a name. */
export interface PackedPart {
  readonly part: string
  readonly entries: AsyncIterable<DiskEntry>
}

/** A file that was written, by its content. */
export interface WrittenBlob {
  readonly file: string
  readonly size: number
  /** `sha256:<hex>` */
  readonly digest: string
}

/** The size and the digest of a file. */
export const describeFile = async (file: string): Promise<WrittenBlob> => {
  const hash = createHash("sha256")
  let size = 0
  for await (const piece of createReadStream(file, { highWaterMark: 1024 * 1024 })) {
    hash.update(piece)
    size += piece.length
  }
  return { file, size, digest: `sha256:${hash.digest("hex")}` }
}

/** Writes parts into a compressed archive. Equal entries give equal bytes. Null, and no file, when there is no entry. */
export const pack = async (file: string, parts: ReadonlyArray<PackedPart>): Promise<WrittenBlob | null> => {
  const plain = `${file}.tar`
  const handle = await fs.open(plain, "wx", 0o600)
  let entries = 0
  try {
    const archive = archiveWriter(handle)
    for (const { entries: list, part } of parts) entries += (await archive.writePart(part, list)).entries
    await archive.end()
  } finally {
    await handle.close()
  }
  if (entries > 0)
    await pipeline(createReadStream(plain), createGzip(), createWriteStream(file, { flags: "wx", mode: 0o600 }))
  await fs.rm(plain)
  return entries === 0 ? null : describeFile(file)
}

/** Writes a value as compressed JSON. */
export const packJson = async (file: string, value: unknown): Promise<WrittenBlob> => {
  await fs.writeFile(file, gzipSync(JSON.stringify(value)), { flag: "wx", mode: 0o600 })
  return describeFile(file)
}

/** The value that `packJson` has written. */
export const unpackJson = async (file: string): Promise<unknown> =>
  JSON.parse(gunzipSync(await fs.readFile(file)).toString("utf8"))

const isHere = ({ reason }: BeneathError): boolean =>
  reason === "link" || reason === "exists" || reason === "not_a_directory" || reason === "not_a_file"

const namesOf = (path: string): ReadonlyArray<Buffer> | undefined => {
  const isStray = (name: string) => name === "" || name === "." || name === ".." || name.includes("\0")
  const names = pathNames(path)
  return names.some((name) => isStray(name.toString("latin1"))) ? undefined : names
}

/** Opens a directory or a file below the root, and gives it its permissions and, where they are known, its time. */
const settle = (root: string, names: ReadonlyArray<Buffer>, mode: number, mtime?: Date) => {
  const name = names.at(-1) ?? Buffer.alloc(0)
  return inDirectory(root, names.slice(0, -1), { create: false }, (directory) =>
    attempt(name, async () => {
      const handle = await fs.open(
        directory.entry(name),
        constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
      )
      try {
        if (mtime !== undefined) await handle.utimes(mtime, mtime)
        await handle.chmod(mode)
      } finally {
        await handle.close()
      }
    })
  )
}

const put = (root: string, names: ReadonlyArray<Buffer>, entry: ArchivedEntry) => {
  const name = names.at(-1) ?? Buffer.alloc(0)
  if (entry.type === "Directory") return inDirectory(root, names, { create: true }, () => Effect.void)
  return inDirectory(root, names.slice(0, -1), { create: true }, (directory) =>
    attempt(name, async () => {
      if (entry.type === "SymbolicLink") return fs.symlink(pathBytes(entry.linkpath), directory.entry(name))
      const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
      const file = await fs.open(directory.entry(name), flags, 0o600)
      try {
        for await (const piece of entry.content()) await file.writeFile(piece)
        await file.utimes(entry.mtime, entry.mtime)
        await file.chmod(entry.mode & 0o777)
      } finally {
        await file.close()
      }
    })
  )
}

/**
 * Writes the entries of an archive into the folder of their part, which exists; null leaves a part out. What is there already stays, and an entry that would lead through a link or over
 * something else is left out: gives back the paths of these.
 */
export const unpackFiles = (
  file: string,
  rootOf: (part: string) => string | null
): Effect.Effect<ReadonlyArray<string>, BeneathError> =>
  Effect.scoped(
    Effect.gen(function* () {
      const plain = `${file}.tar`
      yield* attempt(file, () =>
        pipeline(createReadStream(file), createGunzip(), createWriteStream(plain, { mode: 0o600 }))
      )
      const handle = yield* Effect.acquireRelease(
        attempt(plain, () => fs.open(plain)),
        (open) => Effect.promise(() => open.close().then(() => fs.rm(plain, { force: true })))
      )
      const entries = readArchive(handle)
      const skipped: Array<string> = []
      const directories: Array<readonly [string, ReadonlyArray<Buffer>, ArchivedEntry]> = []
      for (;;) {
        const next = yield* attempt(file, () => entries.next())
        if (next.done === true) break
        const entry = next.value
        const [part = "", , ...rest] = entry.path.split("/")
        const root = rootOf(part)
        const names = namesOf(rest.join("/"))
        if (root === null || rest.length === 0) continue
        if (names === undefined) {
          skipped.push(entry.path)
          continue
        }
        yield* put(root, names, entry).pipe(
          Effect.tap(() => (entry.type === "Directory" ? directories.push([root, names, entry]) : 0)),
          Effect.catchIf(isHere, () => Effect.sync(() => skipped.push(entry.path)))
        )
      }
      // The permissions of a directory may forbid to write into it, and writing changes its time.
      for (const [root, names, { mode, mtime }] of directories.reverse())
        yield* settle(root, names, mode & 0o777, mtime)
      return skipped
    })
  )

/** Gives files and directories below a root their permissions, and leaves alone what is a link or is gone. */
export const setModes = (root: string, modes: Iterable<readonly [path: string, mode: number]>) =>
  Effect.forEach(
    [...modes].reverse(),
    ([path, mode]) => {
      const names = namesOf(path)
      return names === undefined
        ? Effect.void
        : settle(root, names, mode).pipe(
            Effect.catchIf(
              (error) => isHere(error) || error.reason === "missing",
              () => Effect.void
            )
          )
    },
    { discard: true }
  )
