import { chmodSync, statSync } from "node:fs"
import { dirname } from "node:path"
import { makeDirectory } from "./MakeDirectory.js"

const othersBits = 0o077
const stickyBit = 0o1000

/** The modes of Windows say nothing about other users. */
const isOpen = (path: string): boolean => process.platform !== "win32" && (statSync(path).mode & othersBits) !== 0

/**
 * The reason why `user`, by default that of this process, cannot shut others out of an existing directory, as the end of a sentence. Undefined
 * where that can be done, or is done already.
 */
export const whyShared = (path: string, user: number | undefined = process.geteuid?.()): string | undefined => {
  if (!isOpen(path)) return undefined
  const { mode, uid } = statSync(path)
  if ((mode & stickyBit) !== 0 || dirname(path) === path) return "it is a directory that the machine shares"
  return user === 0 || user === uid ? undefined : "it belongs to another user, and others may look into it"
}

/**
 * Makes a directory that no other user may look into, and takes the rights of others from one that is there. Throws with a sentence for a
 * person where that cannot be done, and the errors of the file system.
 */
export const makePrivateDirectory = (path: string): void => {
  makeDirectory(path, 0o700)
  if (!isOpen(path)) return
  const why = whyShared(path)
  if (why === undefined) chmodSync(path, statSync(path).mode & 0o7700)
  // Some file systems accept a mode and keep their own.
  if (why !== undefined || isOpen(path))
    throw new Error(`${why ?? "its file system keeps it open to others"}. Name a directory of the server's own in it.`)
}
