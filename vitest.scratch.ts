import { spawnSync } from "node:child_process"
import { chmodSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const memory = "/dev/shm"
const leastFreeBytes = 2 * 1024 ** 3

const inMemory = (): string | undefined => {
  try {
    const { bavail, bsize } = statfsSync(memory)
    return bavail * bsize < leastFreeBytes ? undefined : mkdtempSync(join(memory, "reins-"))
  } catch {
    return undefined
  }
}

const runsPrograms = (directory: string): boolean => {
  const program = join(directory, "program")
  writeFileSync(program, "#!/bin/sh\n", { mode: 0o755 })
  return spawnSync(program).status === 0
}

/**
 * Gives the tests of a run a directory of their own, which is removed with its end. It is in memory where there is room: the tests make
 * and remove a hundred thousand files, and a disk looks long for a place that was not freed just now. Whoever sets TMPDIR has chosen.
 */
export const useScratch = (): void => {
  if (process.env["TMPDIR"] !== undefined) return
  const found = inMemory()
  const isUsable = found !== undefined && runsPrograms(found)
  if (found !== undefined && !isUsable) rmSync(found, { recursive: true })
  const directory = found !== undefined && isUsable ? found : mkdtempSync(join(tmpdir(), "reins-"))
  // PostgreSQL does not run as root.
  chmodSync(directory, 0o711)
  process.env["TMPDIR"] = directory
  process.once("exit", () => rmSync(directory, { recursive: true, force: true }))
}
