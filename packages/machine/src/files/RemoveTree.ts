import { chmod, lstat, readdir, rm } from "node:fs/promises"
import { beneath } from "./NameText.js"

const options = { recursive: true, force: true }

/**
 * Removes a tree that nobody works in any more. It may have directories that their owner may not write, as Go makes them for its module
 * cache. An absent path is no failure.
 */
export const removeTree = async (path: string | Buffer): Promise<void> => {
  try {
    await rm(path, options)
  } catch (error) {
    if (!(error instanceof Error && "code" in error && (error.code === "EACCES" || error.code === "EPERM"))) throw error
    await makeWritable(path)
    await rm(path, options)
  }
}

const makeWritable = async (path: string | Buffer): Promise<void> => {
  if (!(await lstat(path)).isDirectory()) return
  await chmod(path, 0o700)
  for (const name of await readdir(path, { encoding: "buffer" })) await makeWritable(beneath(path, name))
}
