// The directory for what the tests write.
import { spawnSync } from "node:child_process"
import { chmodSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const memory = "/dev/shm"
const leastFreeBytes = 2 * 1024 ** 3

const runsPrograms = (directory) => {
  const program = join(directory, "program")
  writeFileSync(program, "#!/bin/sh\n", { mode: 0o755 })
  return spawnSync(program).status === 0
}

const inMemory = () => {
  try {
    const { bavail, bsize } = statfsSync(memory)
    if (bavail * bsize < leastFreeBytes) return undefined
    const directory = mkdtempSync(join(memory, "reins-"))
    if (runsPrograms(directory)) return directory
    rmSync(directory, { recursive: true })
  } catch {
    // A system without it, or one that lets nobody write there.
  }
  return undefined
}

/**
 * A directory of the run's own, which is removed with its end. It is in memory where there is room: the tests make and remove a hundred
 * thousand files, and a disk looks long for a place that was not freed just now. Whoever sets TMPDIR has chosen.
 */
export const scratch = () => {
  const chosen = process.env.TMPDIR === undefined ? inMemory() : undefined
  const directory = chosen ?? mkdtempSync(join(tmpdir(), "reins-"))
  // PostgreSQL does not run as root.
  chmodSync(directory, 0o711)
  process.once("exit", () => rmSync(directory, { recursive: true, force: true }))
  return directory
}
