import { existsSync, mkdirSync, statSync } from "node:fs"
import { dirname } from "node:path"

/**
 * Makes a directory, and those that it is in, where they are not there yet. It is for paths that people name: the `recursive` of Node never
 * ends where a file system answers ENOENT to the making of a directory whose parent is there, as `/proc` does.
 */
export const makeDirectory = (path: string, mode = 0o777): void => {
  if (isDirectory(path)) return
  const parent = dirname(path)
  if (!existsSync(parent)) makeDirectory(parent, mode)
  try {
    mkdirSync(path, { mode })
  } catch (cause) {
    // Another process may have made it meanwhile.
    if (isDirectory(path)) return
    // ENOENT would say that something is missing, which is not so: its parent is there.
    throw isAbsent(cause) ? new Error(`no directory can be made in ${parent}.`, { cause }) : cause
  }
}

const isDirectory = (path: string): boolean => {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
  } catch {
    // The attempt to make the directory fails next, and says why.
    return false
  }
}

const isAbsent = (cause: unknown): boolean => cause instanceof Error && "code" in cause && cause.code === "ENOENT"
