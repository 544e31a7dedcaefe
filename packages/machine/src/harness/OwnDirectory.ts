import { lstat, mkdir, rm } from "node:fs/promises"
import * as path from "node:path"

/** Makes a directory below the home. No part of its path may be a link, because the agent of an earlier turn may have left one. */
export const makeOwnDirectory = async (homeDir: string, directory: string): Promise<void> => {
  await mkdir(homeDir, { recursive: true, mode: 0o700 })
  let at = homeDir
  for (const name of path.relative(homeDir, directory).split(path.sep)) {
    at = path.join(at, name)
    const found = await lstat(at).catch(() => undefined)
    if (found?.isDirectory() === false) await rm(at)
    await mkdir(at, { recursive: true, mode: 0o700 })
  }
}
