import { chmod, lstat, readdir, rm } from "node:fs/promises"
import { join } from "node:path"

const options = { recursive: true, force: true }

/**
 * Removes a tree that nobody works in any more, also where it has directories that its owner may not write: tools leave such, as Go does
 * for its module cache. A path where nothing is is left as it is.
 */
export const removeTree = async (path: string): Promise<void> => {
  try {
    await rm(path, options)
  } catch (error) {
    if (!(error instanceof Error && "code" in error && (error.code === "EACCES" || error.code === "EPERM"))) throw error
    await makeWritable(path)
    await rm(path, options)
  }
}

const makeWritable = async (path: string): Promise<void> => {
  if (!(await lstat(path)).isDirectory()) return
  await chmod(path, 0o700)
  for (const name of await readdir(path)) await makeWritable(join(path, name))
}
