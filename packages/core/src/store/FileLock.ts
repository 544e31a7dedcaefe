import { existsSync } from "node:fs"
import { dirname } from "node:path"
import { makeDirectory } from "@reins/base/base/MakeDirectory"
import { closeSqlite, isSqliteError, openSqlite } from "./SqliteDriver.js"

/** Another process holds the lock. */
export class FileLocked extends Error {
  constructor(readonly file: string) {
    super(`${file} is locked`)
  }
}

/** The files whose locks this process holds. */
const held = new Set<string>()

/** True while this process holds the lock of a file, which `lockFile` was given the same path of. */
export const isHeldHere = (file: string): boolean => held.has(file)

/**
 * Takes a lock of the kernel on a file, and gives back the function that releases it. The file and its directory are made if they are not
 * there. The lock ends with this process however that ends, and lasts while the process is only stopped. It is the lock of SQLite on a file
 * that holds nothing else. Throws `FileLocked` when another process still holds the lock after `waitMs`, and the errors of the file system.
 */
export const lockFile = (file: string, { waitMs = 0 }: { readonly waitMs?: number } = {}): (() => void) => {
  makeDirectory(dirname(file), 0o700)
  const lock = openSqlite(file, { timeout: waitMs })
  try {
    lock.pragma("journal_mode = memory")
    lock.exec("begin exclusive")
  } catch (cause) {
    closeSqlite(lock)
    throw isSqliteError(cause, "SQLITE_BUSY") ? new FileLocked(file) : cause
  }
  held.add(file)
  return () => {
    held.delete(file)
    closeSqlite(lock)
  }
}

/** True while a process holds the lock of a file. False for a file that does not exist. */
export const isLocked = (file: string): boolean => {
  if (!existsSync(file)) return false
  try {
    lockFile(file)()
    return false
  } catch (cause) {
    if (cause instanceof FileLocked) return true
    throw cause
  }
}
