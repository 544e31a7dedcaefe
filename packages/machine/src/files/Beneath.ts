import { randomBytes } from "node:crypto"
import { type BigIntStats, constants } from "node:fs"
import * as fs from "node:fs/promises"
import { Data, Effect } from "effect"
import { directoryPath } from "./DirectoryPath.js"
import { nameText } from "./NameText.js"
import { namedState } from "./OnlyName.js"

// Opens files below a root that somebody hostile may rearrange at the same time. Each component is opened relative to the
// directory opened before it and never through a symbolic link, so that no rearrangement leads out of the root.

/**
 * A file operation that failed at the name `at`. `link`, `hard_link`, `not_a_file` and `not_a_directory` say that the name is something that
 * is refused there; the other reasons are those of the file system.
 */
export class BeneathError extends Data.TaggedError("BeneathError")<{
  readonly reason:
    | "missing"
    | "link"
    | "hard_link"
    | "not_a_directory"
    | "not_a_file"
    | "exists"
    | "denied"
    | "disk_full"
    | "read_only"
    | "failed"
  readonly at: string
}> {}

/** An open directory below the root. It is valid only until `inDirectory` or `inRoot` closes it. */
export interface OpenDirectory {
  readonly handle: fs.FileHandle
  /**
   * The path of an entry. The kernel resolves it from the open directory, not from the name of the directory. Without `/proc` it throws when
   * the name of the directory does not lead to the open one any more.
   */
  readonly entry: (name: string | Buffer) => string | Buffer
}

const directoryFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW

const openDirectory = (handle: fs.FileHandle, plainPath: Buffer): OpenDirectory => {
  const path = directoryPath(handle, plainPath)
  return { handle, entry: (name) => Buffer.concat([path(), Buffer.from("/"), Buffer.from(name)]) }
}

const codeOf = (cause: unknown): string =>
  cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : ""

const reasons: Readonly<Record<string, BeneathError["reason"]>> = {
  ENOENT: "missing",
  ELOOP: "link",
  EMLINK: "link",
  ENOTDIR: "not_a_directory",
  EISDIR: "not_a_file",
  ENXIO: "not_a_file",
  ENODEV: "not_a_file",
  EEXIST: "exists",
  ENOTEMPTY: "exists",
  EACCES: "denied",
  EPERM: "denied",
  EROFS: "read_only",
  ENOSPC: "disk_full",
  EDQUOT: "disk_full"
}

const shown = (name: string | Buffer): string => (typeof name === "string" ? name : nameText(name))

/** The error of a file operation on the entry `at`. */
export const beneathError = (cause: unknown, at: string | Buffer): BeneathError =>
  cause instanceof BeneathError
    ? cause
    : new BeneathError({ reason: reasons[codeOf(cause)] ?? "failed", at: shown(at) })

/**
 * One operation on the entry `at` of an open directory, with its failure as `BeneathError`. It cannot be interrupted, because an operation
 * that goes on after its directory is closed could meet another directory under the same descriptor number.
 */
export const attempt = <A>(at: string | Buffer, run: () => Promise<A>): Effect.Effect<A, BeneathError> =>
  Effect.uninterruptible(Effect.tryPromise({ try: run, catch: (cause) => beneathError(cause, at) }))

const plainJoin = (base: Buffer, name: string | Buffer): Buffer =>
  Buffer.concat([base, Buffer.from("/"), Buffer.from(name)])

// O_DIRECTORY with O_NOFOLLOW reports a link as ENOTDIR. Callers want to tell a link from a file.
const explainNotDirectory = async (parent: OpenDirectory, name: string | Buffer, cause: unknown): Promise<never> => {
  if (codeOf(cause) === "ENOTDIR") {
    const found = await fs.lstat(parent.entry(name)).catch(() => null)
    if (found?.isSymbolicLink() === true) throw new BeneathError({ reason: "link", at: shown(name) })
  }
  throw cause
}

/** What was opened in a directory, unless the directory was exchanged meanwhile, which `entry` tells. */
const opened = async (parent: OpenDirectory, opening: Promise<fs.FileHandle>): Promise<fs.FileHandle> => {
  const handle = await opening
  try {
    parent.entry(".")
    return handle
  } catch (cause) {
    await handle.close()
    throw cause
  }
}

const descend = async (parent: OpenDirectory, name: string | Buffer, create: boolean): Promise<fs.FileHandle> => {
  const path = parent.entry(name)
  try {
    return await opened(parent, fs.open(path, directoryFlags))
  } catch (cause) {
    if (!create || codeOf(cause) !== "ENOENT") return explainNotDirectory(parent, name, cause)
  }
  await fs.mkdir(path, 0o755).catch((cause: unknown) => {
    if (codeOf(cause) !== "EEXIST") throw cause
  })
  const made = await opened(parent, fs.open(path, directoryFlags)).catch((cause: unknown) =>
    explainNotDirectory(parent, name, cause)
  )
  await parent.handle.sync()
  return made
}

const walk = async (root: string, names: ReadonlyArray<string | Buffer>, create: boolean): Promise<OpenDirectory> => {
  let plain: Buffer = Buffer.from(root)
  let current = openDirectory(await fs.open(root, constants.O_RDONLY | constants.O_DIRECTORY), plain)
  for (const name of names) {
    const next = await descend(current, name, create).finally(() => current.handle.close())
    plain = plainJoin(plain, name)
    current = openDirectory(next, plain)
  }
  return current
}

/** Opens the directory `name`, never through a symbolic link. The caller closes it. */
export const openIn = async (parent: OpenDirectory, name: Buffer): Promise<OpenDirectory> =>
  openDirectory(await descend(parent, name, false), Buffer.from(parent.entry(name)))

/** Runs `use` with the root held open. */
export const inRoot = async <A>(root: string, use: (directory: OpenDirectory) => Promise<A>): Promise<A> => {
  const directory = await walk(root, [], false)
  return use(directory).finally(() => directory.handle.close())
}

/**
 * Runs `use` with the directory at `names` below `root` held open. With `create`, missing directories are made on the way.
 * The names must already be checked: none is empty, `.`, `..` or holds a slash.
 */
export const inDirectory = <A, E, R>(
  root: string,
  names: ReadonlyArray<string | Buffer>,
  options: { readonly create: boolean },
  use: (directory: OpenDirectory) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | BeneathError, R> =>
  Effect.acquireUseRelease(
    attempt(names.at(-1) ?? "", () => walk(root, names, options.create)),
    use,
    (directory) => Effect.promise(() => directory.handle.close())
  )

/** Knows which files have all of their names below a root. */
export interface HardLinks {
  /** True when every name of this open file is below the root. False also when that cannot be found out. */
  readonly areWithin: (file: BigIntStats) => Promise<boolean>
}

/** An open regular file. `size` is in bytes, `mode` the mode of the file with its permission bits. */
export interface OpenFile {
  /** The file has more names than this one. */
  readonly isLinked: boolean
  readonly size: number
  readonly mode: number
  /** The whole state that the file had when it was opened. */
  readonly stat: BigIntStats
  /** True once the reader has been interrupted. A long read asks now and then, and stops. */
  readonly interrupted: () => boolean
}

/** The content of a file that had `size` bytes when it was opened, cut at `maxBytes`. A file that has grown gives one byte more than `size`. */
export const readUpTo = async (handle: fs.FileHandle, size: number, maxBytes: number): Promise<Buffer> => {
  // One byte more than the size tells a file that grew from one that did not.
  const bytes = Buffer.allocUnsafe(Math.min(size + 1, maxBytes))
  let filled = 0
  while (filled < bytes.length) {
    const { bytesRead } = await handle.read(bytes, filled, bytes.length - filled, filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return bytes.subarray(0, filled)
}

const openRegular = async (directory: OpenDirectory, name: string | Buffer): Promise<fs.FileHandle> => {
  const path = directory.entry(name)
  // To open a device is to use it, so only a regular file is opened. The open itself refuses a link.
  const found = await fs.lstat(path)
  if (!found.isFile() && !found.isSymbolicLink()) throw new BeneathError({ reason: "not_a_file", at: shown(name) })
  // O_NONBLOCK, because opening a FIFO that was put there since, and has no writer, would hold a thread for ever.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY
  return opened(directory, fs.open(path, flags))
}

interface Opened {
  readonly handle: fs.FileHandle
  readonly stat: BigIntStats
}

/** Opens a file with its state. With `named` it opens the file anew while its name does not stay with one file. */
const open = async (directory: OpenDirectory, name: string | Buffer, named: boolean): Promise<Opened> => {
  for (let count = 1; count <= maxOpenings; count++) {
    const handle = await openRegular(directory, name)
    try {
      const stat = await (named ? namedState(handle, directory.entry(name)) : handle.stat({ bigint: true }))
      if (stat !== undefined) return { handle, stat }
    } catch (cause) {
      await handle.close()
      throw cause
    }
    await handle.close()
  }
  throw new BeneathError({ reason: "failed", at: shown(name) })
}

const maxOpenings = 8

/**
 * Opens the regular file `name` and runs `use`. A symbolic link is `link`; a directory, FIFO, socket or device is `not_a_file`. With `links` a
 * file is `hard_link` unless all of its names are known to be below the root, and `failed` when the name never stays with one file.
 */
export const withFile = <A>(
  directory: OpenDirectory,
  name: string | Buffer,
  use: (handle: fs.FileHandle, file: OpenFile) => Promise<A>,
  links?: HardLinks
): Effect.Effect<A, BeneathError> =>
  Effect.acquireUseRelease(
    attempt(name, () => open(directory, name, links !== undefined)),
    ({ handle, stat }) =>
      Effect.tryPromise({
        try: async (signal) => {
          if (!stat.isFile()) throw new BeneathError({ reason: "not_a_file", at: shown(name) })
          if (links !== undefined && stat.nlink > 1n && !(await links.areWithin(stat)))
            throw new BeneathError({ reason: "hard_link", at: shown(name) })
          return use(handle, {
            isLinked: stat.nlink > 1n,
            size: Number(stat.size),
            mode: Number(stat.mode),
            stat,
            interrupted: () => signal.aborted
          })
        },
        catch: (cause) => beneathError(cause, name)
      }),
    ({ handle }) => Effect.promise(() => handle.close())
  )

/** The target of the symbolic link `name`, as bytes. The link is not followed. */
export const readLink = (directory: OpenDirectory, name: string | Buffer): Effect.Effect<Buffer, BeneathError> =>
  attempt(name, () => fs.readlink(directory.entry(name), { encoding: "buffer" }))

const temporaryName = (): string => `.reins-${randomBytes(9).toString("hex")}.tmp`

/**
 * Puts a regular file at `name` in one step. Readers see the old content or the new, also after a power cut.
 * With `exclusive` it fails with `exists` when anything is there.
 */
export const replaceFile = (
  directory: OpenDirectory,
  name: string | Buffer,
  bytes: Uint8Array,
  options: { readonly mode: number; readonly exclusive: boolean }
): Effect.Effect<void, BeneathError> =>
  attempt(name, async () => {
    const temporary = directory.entry(temporaryName())
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
    const handle = await fs.open(temporary, flags, 0o600)
    try {
      try {
        await handle.writeFile(bytes)
        await handle.chmod(options.mode)
        await handle.sync()
      } finally {
        await handle.close()
      }
      if (options.exclusive) {
        await fs.link(temporary, directory.entry(name))
        await fs.unlink(temporary)
      } else {
        await fs.rename(temporary, directory.entry(name))
      }
    } catch (cause) {
      await fs.rm(temporary, { force: true })
      throw cause
    }
    await directory.handle.sync()
  })

/** Puts a symbolic link at `name`, replacing a file or link that is there. */
export const replaceLink = (
  directory: OpenDirectory,
  name: string | Buffer,
  target: Uint8Array
): Effect.Effect<void, BeneathError> =>
  attempt(name, async () => {
    const temporary = directory.entry(temporaryName())
    await fs.symlink(Buffer.from(target), temporary)
    await fs.rename(temporary, directory.entry(name)).catch(async (cause: unknown) => {
      await fs.rm(temporary, { force: true })
      throw cause
    })
    await directory.handle.sync()
  })

/** Removes the file or link `name`. A name that is absent is no failure. */
export const removeFile = (directory: OpenDirectory, name: string | Buffer): Effect.Effect<void, BeneathError> =>
  attempt(name, () =>
    fs.unlink(directory.entry(name)).catch((cause: unknown) => {
      if (codeOf(cause) !== "ENOENT") throw cause
    })
  )
