import { existsSync, mkdtempSync, rmSync, statfsSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

/**
 * A data directory in memory where there is room, else on disk. A process that is killed loses nothing that the system holds, so the
 * wait for a disk would prove nothing here.
 */
export const newDataDirectory = (): string =>
  mkdtempSync(join(roomy("/dev/shm") ? "/dev/shm" : tmpdir(), "reins-chaos-"))

export const removeDataDirectory = (directory: string): void =>
  rmSync(directory, { recursive: true, force: true, maxRetries: 5 })

const roomy = (directory: string): boolean => {
  if (!existsSync(directory)) return false
  const { bavail, bsize } = statfsSync(directory)
  return bavail * bsize > 2 * 1024 ** 3
}
