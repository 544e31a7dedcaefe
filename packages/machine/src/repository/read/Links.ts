import * as fs from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { git, isObjectId, records } from "../run/GitCommand.js"
import { type GitError, onDisk, readOutput } from "../run/GitError.js"

import type { GitOptionsShape } from "../run/GitOptions.js"

/** The commits of submodules, by path (latin1). */
export type Links = ReadonlyMap<string, string>

/** The submodules of a tree. */
export const linksOf = (options: GitOptionsShape, gitDir: string, tree: string): Effect.Effect<Links, GitError> =>
  git({ args: ["ls-tree", "-r", "-z", "--full-tree", tree], gitDir, timeoutMs: options.localTimeoutMs }).pipe(
    Effect.flatMap(({ stdout }) => readOutput("ls-tree", () => new Map(records(stdout).flatMap(linkIn))))
  )

/** A record of `ls-tree`: `<mode> <type> <id> TAB <path>`. Throws at any other. */
const linkIn = (record: string): ReadonlyArray<readonly [path: string, id: string]> => {
  const [, type = "", id = "", path = ""] = /^[0-7]{6} (blob|commit) ([0-9a-f]{40})\t(.+)$/s.exec(record) ?? []
  if (path === "") throw new Error("not an entry of a tree")
  return type === "commit" ? [[path, id]] : []
}

const file = (gitDir: string): string => join(gitDir, "reins-links")

const atDisk = <A>(run: () => Promise<A>) => onDisk("The commits of submodules could not be kept", run)

const parse = (text: string): Links => {
  const entries: unknown = JSON.parse(text)
  const isEntry = (entry: unknown): entry is [string, string] =>
    Array.isArray(entry) && typeof entry[0] === "string" && typeof entry[1] === "string" && isObjectId(entry[1])
  if (!Array.isArray(entries) || !entries.every(isEntry)) throw new Error("not a list of commits")
  return new Map(entries)
}

/**
 * The commits that the service gave to submodules of a workspace without a checkout of them, as a clone by git does: the folder is empty then. They hold
 * instead of those of the base.
 */
export const readLinks = (gitDir: string): Effect.Effect<Links, GitError> =>
  atDisk(async () =>
    parse(
      await fs.readFile(file(gitDir), "utf8").catch((cause: unknown) => {
        if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return "[]"
        throw cause
      })
    )
  )

/** Writes the commits that the service has given. */
export const writeLinks = (gitDir: string, links: Links): Effect.Effect<void, GitError> =>
  atDisk(() =>
    links.size === 0
      ? fs.rm(file(gitDir), { force: true })
      : fs.writeFile(file(gitDir), JSON.stringify([...links]), { flush: true })
  )
