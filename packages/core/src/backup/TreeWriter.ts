import { constants } from "node:fs"
import * as fs from "node:fs/promises"
import { dirname, join } from "node:path"
import { ArchiveDamaged, type ArchivedEntry } from "../files/Archive.js"

/**
 * Writes entries below an empty root. Links are made last, so that no entry of a hostile archive is written through one. No file is written
 * twice.
 */
export const treeWriter = (root: string) => {
  const links: Array<{ readonly path: string; readonly to: string }> = []
  const directories: Array<{ readonly path: string; readonly mode: number; readonly mtime: Date }> = []
  const made = new Set<string>()
  const makeDirectory = async (path: string) => {
    if (made.has(path)) return
    await fs.mkdir(path, { recursive: true, mode: 0o700 })
    made.add(path)
  }
  return {
    /** Writes one entry. `seen` is called with each piece of its content. */
    put: async (relative: string, entry: ArchivedEntry, seen: (piece: Uint8Array) => void): Promise<void> => {
      const path = join(root, requireInside(relative))
      if (entry.type === "Directory") {
        await makeDirectory(path)
        directories.push({ path, mode: entry.mode & 0o777, mtime: entry.mtime })
        return
      }
      await makeDirectory(dirname(path))
      if (entry.type === "SymbolicLink") {
        links.push({ path, to: entry.linkpath })
        return
      }
      const file = await fs.open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600)
      try {
        for await (const piece of entry.content()) {
          seen(piece)
          // A single write may take only a part on a disk that fills up. This goes on until all is written, or fails.
          await file.writeFile(piece)
        }
        await file.chmod(entry.mode & 0o777)
        await file.utimes(entry.mtime, entry.mtime)
        // A loss of power may take an agent's files, as it may while the agent works. The others must be on the disk.
        if (!/^sessions\/[^/]+\/(?:workspace|home)\//.test(relative)) await file.sync()
      } finally {
        await file.close()
      }
    },
    /** Makes the links, then gives the directories their rights, which may forbid to write into them. */
    finish: async (): Promise<void> => {
      for (const { path, to } of links) await fs.symlink(to, path)
      for (const { mode, mtime, path } of directories.reverse()) {
        await fs.utimes(path, mtime, mtime)
        await fs.chmod(path, mode)
      }
    }
  }
}

const requireInside = (relative: string): string => {
  const names = relative.replace(/\/$/, "").split("/")
  if (names.some((name) => name === "" || name === "." || name === ".." || name.includes("\0")))
    throw new ArchiveDamaged("an entry leads out of it")
  return names.join("/")
}
