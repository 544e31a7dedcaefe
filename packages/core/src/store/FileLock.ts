import { existsSync, mkdirSync } from "node:fs"
import { dirname } from "node:path"
import SqliteDatabase from "better-sqlite3"

/** Somebody else holds the lock. */
export class FileLocked extends Error {
  constructor(readonly file: string) {
    super(`${file} is locked`)
  }
}

/**
 * Takes a lock of the kernel on a file, which is made with its directory if it is not there, and gives back what releases it. It
 * ends with this process however that ends, and lasts while the process is only stopped. It is SQLite's own lock on a file of its
 * own. Throws `FileLocked` when another process still holds it after `waitMs`, and whatever the file system throws.
 */
export const lockFile = (file: string, { waitMs = 0 }: { readonly waitMs?: number } = {}): (() => void) => {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const lock = new SqliteDatabase(file, { timeout: waitMs })
  try {
    lock.pragma("journal_mode = memory")
    lock.exec("begin exclusive")
  } catch (cause) {
    lock.close()
    throw cause instanceof SqliteDatabase.SqliteError && cause.code.startsWith("SQLITE_BUSY")
      ? new FileLocked(file)
      : cause
  }
  return () => void lock.close()
}

/** Whether a process holds the lock of a file. False for a file that is not there. */
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
