import * as fs from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { attempt, type BeneathError, type OpenDirectory } from "../../files/Beneath.js"
import { type GitError, onDisk } from "../../repository/run/GitError.js"
import { type AgentGitFolder, entriesIn, inAgentGit, readPart } from "./AgentGit.js"

// Copies objects out of the `.git` of an agent, because references to other repositories and links stand beside them there.

const maxObjects = 20_000
const maxObjectBytes = 64 * 1024 * 1024

class TooMuch extends Error {}

/** Copies the agent's own objects into a folder, up to a bound. False when there are more. */
export const copyObjects = (
  workTree: string,
  gitDir: string,
  into: string,
  root?: AgentGitFolder
): Effect.Effect<boolean, BeneathError | GitError> => {
  let files = 0
  let bytes = 0
  const copyOne = (directory: OpenDirectory, name: string, target: string) =>
    Effect.gen(function* () {
      const content = yield* readPart(directory, name, maxObjectBytes - bytes + 1)
      if (content === null) return
      bytes += content.length
      files += 1
      if (bytes > maxObjectBytes || files > maxObjects) return yield* Effect.die(new TooMuch())
      yield* onDisk("The agent's objects could not be copied", () => fs.writeFile(target, content))
    })
  const copyFolder = (folder: string, isWanted: (name: string) => boolean) =>
    Effect.gen(function* () {
      const target = join(into, folder)
      yield* onDisk("The agent's objects could not be copied", () => fs.mkdir(target, { recursive: true }))
      const known = new Set(
        yield* Effect.promise(() =>
          fs.readdir(join(gitDir, "objects", folder), { encoding: "latin1" }).catch((): Array<string> => [])
        )
      )
      const copyAll = (directory: OpenDirectory) =>
        Effect.gen(function* () {
          const entries = yield* attempt(folder, () => entriesIn(directory, maxObjects + 1))
          for (const { isDirectory, name } of entries) {
            const text = name.toString("latin1")
            if (!isDirectory && isWanted(text) && !known.has(text)) yield* copyOne(directory, text, join(target, text))
          }
        })
      yield* inAgentGit(workTree, ["objects", folder], copyAll, root)
    })
  return Effect.gen(function* () {
    const top = yield* inAgentGit(
      workTree,
      ["objects"],
      (directory) => attempt("objects", () => entriesIn(directory, maxObjects)),
      root
    )
    for (const { name } of top ?? []) {
      const folder = name.toString("latin1")
      if (/^[0-9a-f]{2}$/.test(folder)) yield* copyFolder(folder, (text) => /^[0-9a-f]{38,62}$/.test(text))
      else if (folder === "pack") yield* copyFolder(folder, (text) => /^pack-[0-9a-f]+\.(?:pack|idx)$/.test(text))
    }
    return true
  }).pipe(Effect.catchAllDefect((defect) => (defect instanceof TooMuch ? Effect.succeed(false) : Effect.die(defect))))
}
