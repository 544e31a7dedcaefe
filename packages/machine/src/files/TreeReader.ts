import { constants } from "node:fs"
import * as fs from "node:fs/promises"
import { directoryPath } from "./DirectoryPath.js"
import { beneath, nameText, pathText } from "./NameText.js"

// An agent may rearrange a tree while it is read. So each entry is opened from its open directory, and never through a link.

/** A file, directory or symbolic link of a tree. Its content can be read once, before the next entry is asked for. */
export interface DiskEntry {
  /** The path in the tree, with `/` between the names, each as `nameText` writes it. */
  readonly path: string
  readonly type: "File" | "Directory" | "SymbolicLink"
  readonly mode: number
  /** In bytes; 0 except for files. */
  readonly size: number
  /** The target of a link, as `pathText` writes it; empty except for links. */
  readonly linkpath: string
  readonly mtime: Date
  readonly content?: () => AsyncGenerator<Uint8Array>
}

/** The way that a tree is read. */
export interface TreeOptions {
  /** True for an entry to leave out, together with everything below it. */
  readonly leaveOut?: (path: string) => boolean
  /** The rank of an entry in its directory. Lower ranks come first, and names decide between equal ranks. All are 0 by default. */
  readonly order?: (path: string) => number
  /** Is called with each entry that cannot be read: it has gone, its rights forbid it, or it is a special file. */
  readonly skipped?: (path: string) => void
}

const pieceBytes = 1024 * 1024
/** Deeper directories are skipped, because each level holds a descriptor open. */
const maxDepth = 200

const directoryFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW
const fileFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

async function* piecesOf(handle: fs.FileHandle): AsyncGenerator<Uint8Array> {
  for (;;) {
    const piece = Buffer.allocUnsafe(pieceBytes)
    const { bytesRead } = await handle.read(piece, 0, pieceBytes, null)
    if (bytesRead === 0) return
    yield piece.subarray(0, bytesRead)
  }
}

const nameless = { size: 0, linkpath: "" }

/** The root as a directory named `prefix`, and every entry below it. A directory comes before its entries. There are none without a root. */
export async function* readTree(root: string, prefix: string, options: TreeOptions = {}): AsyncGenerator<DiskEntry> {
  const top = await fs.open(root, directoryFlags).catch(() => undefined)
  if (top === undefined) return
  yield { path: prefix, type: "Directory", mode: 0o700, mtime: (await top.stat()).mtime, ...nameless }
  yield* readDirectory(top, root, prefix, options, 0)
}

async function* readDirectory(
  directory: fs.FileHandle,
  plainPath: string | Buffer,
  prefix: string,
  options: TreeOptions,
  depth: number
): AsyncGenerator<DiskEntry> {
  const base = directoryPath(directory, plainPath)
  const skip = (path: string) => options.skipped?.(path)
  try {
    const entries = (await fs.readdir(base(), { withFileTypes: true, encoding: "buffer" })).map((entry) => {
      const path = `${prefix}/${nameText(entry.name)}`
      return { entry, path, rank: options.order?.(path) ?? 0 }
    })
    entries.sort((a, b) => a.rank - b.rank || Buffer.compare(a.entry.name, b.entry.name))
    for (const { entry, path } of entries) {
      if (options.leaveOut?.(path) === true) continue
      try {
        const from = beneath(base(), entry.name)
        if (entry.isSymbolicLink()) {
          const [target, { mtime }] = await Promise.all([fs.readlink(from, { encoding: "buffer" }), fs.lstat(from)])
          yield { path, type: "SymbolicLink", mode: 0o777, size: 0, linkpath: pathText(target), mtime }
        } else if (entry.isDirectory()) {
          if (depth >= maxDepth) {
            skip(path)
            continue
          }
          const below = await whileSame(base, fs.open(from, directoryFlags))
          const { mode, mtime } = await below.stat()
          yield { path, type: "Directory", mode: mode & 0o777, mtime, ...nameless }
          yield* readDirectory(below, beneath(plainPath, entry.name), path, options, depth + 1)
        } else if (entry.isFile()) {
          yield* readFile(from, path, base)
        } else {
          skip(path)
        }
      } catch (cause) {
        if (!isOfTheFile(cause)) throw cause
        skip(path)
      }
    }
  } finally {
    await directory.close()
  }
}

/** What was opened, unless its directory was exchanged meanwhile, which `base` tells by an error. */
const whileSame = async (base: () => unknown, opening: Promise<fs.FileHandle>): Promise<fs.FileHandle> => {
  const handle = await opening
  try {
    base()
    return handle
  } catch (cause) {
    await handle.close()
    throw cause
  }
}

async function* readFile(from: string | Buffer, path: string, base: () => unknown): AsyncGenerator<DiskEntry> {
  const handle = await whileSame(base, fs.open(from, fileFlags))
  try {
    const { mode, mtime, size } = await handle.stat()
    yield { path, type: "File", mode: mode & 0o777, size, linkpath: "", mtime, content: () => piecesOf(handle) }
  } finally {
    await handle.close()
  }
}

/** One file as a tree of its own. */
export async function* readOne(from: string, path: string): AsyncGenerator<DiskEntry> {
  yield* readFile(from, path, () => undefined)
}

/** True for an error that only this file has. A broken disk is not of this kind. */
const isOfTheFile = (cause: unknown): boolean =>
  cause instanceof Error &&
  "code" in cause &&
  ["ENOENT", "EACCES", "EPERM", "ELOOP", "ENOTDIR", "ENXIO", "EINVAL", "ESTALE"].includes(String(cause.code))

/** The state of a tree. Two equal states prove that no file was written between them. */
export const treeState = async (root: string): Promise<string> => {
  const lines: Array<string> = []
  const visit = async (directory: string | Buffer): Promise<void> => {
    for (const entry of await fs.readdir(directory, { withFileTypes: true, encoding: "buffer" })) {
      const path = beneath(directory, entry.name)
      const stat = await fs.lstat(path, { bigint: true }).catch(() => undefined)
      lines.push(`${path.toString("latin1")} ${stat?.ino} ${stat?.size} ${stat?.mtimeNs} ${stat?.ctimeNs}`)
      if (entry.isDirectory()) await visit(path)
    }
  }
  await visit(root).catch(() => lines.push("unreadable"))
  return lines.sort().join("\n")
}
