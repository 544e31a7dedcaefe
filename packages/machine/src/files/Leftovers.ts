import { type Dirent, lstatSync, readdirSync } from "node:fs"
import { turnOfTheLoop } from "@reins/base/base/EventLoop"
import { Effect } from "effect"
import { beneathError, inRoot, type OpenDirectory, openIn } from "./Beneath.js"
import { nameText } from "./NameText.js"

// Finds what a tree of git does not tell of a folder: files and whole directories that it does not hold, and modes beyond those that git knows.
// The folder may be rearranged meanwhile, so each directory is opened from the one above it, never through a link.

/** A file, or a directory with everything in it, of which the tree holds nothing. */
export interface Leftover {
  readonly path: string
  /** The bytes of its files; null when there is more than anybody would take, and the rest was not looked at. */
  readonly bytes: number | null
}

/** The findings in a folder. Paths are as `pathText` writes them. */
export interface Leftovers {
  readonly items: ReadonlyArray<Leftover>
  /** Files and directories of the tree whose permissions are not those that git would give them. */
  readonly modes: ReadonlyArray<readonly [path: string, mode: number]>
}

/** The bounds of a search. A leftover beyond one of them is not measured to its end. */
export interface LeftoverBounds {
  readonly maxBytes: number
  readonly maxEntries: number
}

const maxDepth = 200

/** An entry of a directory. Its name is bytes. */
type Entry = Dirent<Buffer>

const permissions = 0o777
/** So many entries are looked at before others are served. */
const entriesAtOnce = 500

/** The permissions that a checkout gives to a file, to a directory and to a file that can be run, where the mask is the usual one. */
export const usualMode = (kind: "file" | "directory", mode: number): number =>
  kind === "directory" || (mode & 0o100) !== 0 ? 0o755 : 0o644

const parentsOf = (paths: ReadonlyArray<string>): ReadonlySet<string> => {
  const found = new Set<string>()
  for (const path of paths)
    for (let at = path.lastIndexOf("/"); at > 0 && !found.has(path.slice(0, at)); at = path.lastIndexOf("/", at - 1))
      found.add(path.slice(0, at))
  return found
}

class TooMuch extends Error {}

/**
 * Looks through a folder. `held` are the paths that the tree holds, and `apart` are names of the root that are no business of this search. A
 * directory that cannot be opened is a leftover without files.
 */
export const leftoversOf = (
  root: string,
  held: ReadonlyArray<string>,
  apart: ReadonlySet<string>,
  bounds: LeftoverBounds
): Promise<Leftovers> => {
  const files = new Set(held)
  const directories = parentsOf(held)
  const items: Array<Leftover> = []
  const modes: Array<readonly [string, number]> = []
  let looked = 0

  const statOf = async (directory: OpenDirectory, name: Buffer) => {
    if (++looked % entriesAtOnce === 0) await Effect.runPromise(turnOfTheLoop)
    return lstatSync(directory.entry(name), { throwIfNoEntry: false })
  }

  const noteMode = async (directory: OpenDirectory, entry: Entry, path: string) => {
    if (entry.isSymbolicLink()) return
    const mode = (await statOf(directory, entry.name))?.mode
    if (mode === undefined) return
    const kind = entry.isDirectory() ? "directory" : "file"
    if ((mode & permissions) !== usualMode(kind, mode)) modes.push([path, mode & permissions])
  }

  /** The bytes below a directory. Throws `TooMuch` beyond a bound. */
  const measure = async (
    parent: OpenDirectory,
    entry: Entry,
    sum: { bytes: number; entries: number },
    depth: number
  ) => {
    const size = entry.isFile() ? ((await statOf(parent, entry.name))?.size ?? 0) : 0
    sum.bytes += size
    sum.entries++
    if (sum.bytes > bounds.maxBytes || sum.entries > bounds.maxEntries || depth > maxDepth) throw new TooMuch()
    if (!entry.isDirectory()) return
    await within(parent, entry.name, async (directory) => {
      for (const each of entriesOf(directory)) await measure(directory, each, sum, depth + 1)
    })
  }

  const noteLeftover = async (parent: OpenDirectory, entry: Entry, path: string) => {
    const sum = { bytes: 0, entries: 0 }
    const bytes = await measure(parent, entry, sum, 0).then(
      () => sum.bytes,
      (cause: unknown) => {
        if (cause instanceof TooMuch) return null
        throw cause
      }
    )
    items.push({ path, bytes })
  }

  const visit = async (directory: OpenDirectory, prefix: string): Promise<void> => {
    for (const entry of entriesOf(directory)) {
      const name = nameText(entry.name)
      const path = `${prefix}${name}`
      if (prefix === "" && apart.has(name)) continue
      if (files.has(path) && !entry.isDirectory()) await noteMode(directory, entry, path)
      else if (entry.isDirectory() && directories.has(path)) {
        await noteMode(directory, entry, path)
        await within(directory, entry.name, (below) => visit(below, `${path}/`))
      } else await noteLeftover(directory, entry, path)
    }
  }

  return inRoot(root, async (directory) => {
    await visit(directory, "")
    return { items, modes }
  })
}

const entriesOf = (directory: OpenDirectory): ReadonlyArray<Entry> =>
  readdirSync(directory.entry("."), { withFileTypes: true, encoding: "buffer" }).sort((one, other) =>
    Buffer.compare(one.name, other.name)
  )

/** Runs `use` with a directory, which may have gone or be closed to us by now. */
const within = async (parent: OpenDirectory, name: Buffer, use: (directory: OpenDirectory) => Promise<void>) => {
  const directory = await openIn(parent, name).catch((cause: unknown) => {
    const { reason } = beneathError(cause, name)
    if (reason === "disk_full" || reason === "read_only" || reason === "failed") throw cause
    return undefined
  })
  if (directory !== undefined) await use(directory).finally(() => directory.handle.close())
}
