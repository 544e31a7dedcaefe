import { fstatSync, statSync } from "node:fs"
import type { FileHandle } from "node:fs/promises"
import { hasProc } from "@reins/base/base/ProcFs"

/**
 * The path that leads to an open directory. Linux resolves `/proc/self/fd/N` from the open directory itself, also when another stands in its
 * place by now. Without `/proc` the path is the plain one, and it is given only while it leads to the open directory; it throws `ESTALE`
 * otherwise. Whoever exchanges a directory between that look and the next call of the system is not seen: no sandbox of agents is there either.
 */
export const directoryPath = ({ fd }: FileHandle, plainPath: string | Buffer): (() => Buffer) => {
  if (hasProc()) {
    const path = Buffer.from(`/proc/self/fd/${fd}`)
    return () => path
  }
  const path = Buffer.from(plainPath)
  return () => {
    const open = fstatSync(fd, { bigint: true })
    const found = statSync(path, { bigint: true, throwIfNoEntry: false })
    if (found?.dev === open.dev && found.ino === open.ino) return path
    throw Object.assign(new Error("another file stands in the place of an open directory"), { code: "ESTALE" })
  }
}
