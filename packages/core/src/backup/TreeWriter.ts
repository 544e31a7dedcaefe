import { constants } from "node:fs"
import * as fs from "node:fs/promises"
import { ArchiveDamaged, type ArchivedEntry } from "@reins/machine/files/Archive"
import { beneath, pathBytes, pathNames } from "@reins/machine/files/NameText"

/**
 * Writes entries below an empty root. Links are made last, so that no entry of a hostile archive is written through one. No file is written
 * twice.
 */
export const treeWriter = (root: string) => {
  const links: Array<{ readonly path: Buffer; readonly to: Buffer }> = []
  const directories: Array<{ readonly path: Buffer; readonly mode: number; readonly mtime: Date }> = []
  const made = new Set<string>()
  const makeDirectory = async (names: ReadonlyArray<Buffer>) => {
    const path = pathOf(names)
    const key = path.toString("latin1")
    if (made.has(key)) return
    await fs.mkdir(path, { recursive: true, mode: 0o700 })
    made.add(key)
  }
  const pathOf = (names: ReadonlyArray<Buffer>) => names.reduce(beneath, Buffer.from(root))
  return {
    /** Writes one entry. `seen` is called with each piece of its content. */
    put: async (relative: string, entry: ArchivedEntry, seen: (piece: Uint8Array) => void): Promise<void> => {
      const names = requireInside(relative)
      const path = pathOf(names)
      if (entry.type === "Directory") {
        await makeDirectory(names)
        directories.push({ path, mode: entry.mode & 0o777, mtime: entry.mtime })
        return
      }
      await makeDirectory(names.slice(0, -1))
      if (entry.type === "SymbolicLink") {
        links.push({ path, to: pathBytes(entry.linkpath) })
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

const requireInside = (relative: string): ReadonlyArray<Buffer> => {
  const names = pathNames(relative.replace(/\/$/, ""))
  const isStray = (name: string) => name === "" || name === "." || name === ".." || name.includes("\0")
  if (names.some((name) => isStray(name.toString("latin1")))) throw new ArchiveDamaged("an entry leads out of it")
  return names
}
