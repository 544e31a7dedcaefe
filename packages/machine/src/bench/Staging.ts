import * as fs from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { removeTree } from "../files/RemoveTree.js"
import type { SessionPaths } from "./SessionPaths.js"

/** A directory of a session for what is made or read beside its workspace, which goes with the scope. What an earlier attempt has left in it goes first. */
export const stagingIn = ({ root }: SessionPaths, name: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const directory = join(root, name)
      await removeTree(directory)
      await fs.mkdir(directory, { recursive: true, mode: 0o700 })
      return directory
    }),
    (directory) => Effect.promise(() => removeTree(directory))
  )
