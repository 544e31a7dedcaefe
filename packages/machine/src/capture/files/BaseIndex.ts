import * as fs from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { baseIndexFile } from "../../repository/objects/RepositoryFiles.js"
import type { Links } from "../../repository/read/Links.js"
import { git } from "../../repository/run/GitCommand.js"
import { type GitError, notUnderstood, onDisk } from "../../repository/run/GitError.js"
import type { TreeFile } from "../index/Capture.js"
import type { Capturing } from "../index/Capturing.js"
import { emptyIndex, type IndexFile, indexLinks, indexNamed, readIndex } from "../index/IndexFile.js"
import { skipPaths } from "./Outside.js"

// Keeps an index of exactly the base of a workspace, once for each base. Only a path that the base lacks is untracked, and only untracked paths are subject
// to ignore rules.

const inGitDir = <A>(run: () => Promise<A>) => onDisk("The index could not be kept", run)

/** Reads an index file. Null for none, and for one that is damaged. */
export const openIndex = (
  path: string
): Effect.Effect<{ readonly index: IndexFile | null; readonly isThere: boolean }, GitError> =>
  inGitDir(async () => {
    const bytes = await fs.readFile(path).catch((cause: unknown) => {
      if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return null
      throw cause
    })
    return { isThere: bytes !== null, index: bytes === null ? null : await readIndex(bytes) }
  })

/** The index of a base, where a capture has left one. */
export const keptBaseIndex = (gitDir: string, base: string | null): Effect.Effect<IndexFile | null, GitError> =>
  base === null ? Effect.succeed(emptyIndex) : Effect.map(openIndex(baseIndexFile(gitDir, base)), ({ index }) => index)

/** The `.gitattributes` of an index by path. */
export const attributesIn = (index: IndexFile): Promise<ReadonlyMap<string, TreeFile>> =>
  indexNamed(index, ".gitattributes")

/** An index in a file of the service. */
export interface BaseIndex {
  readonly path: string
  readonly index: IndexFile
  /** Its submodules. */
  readonly links: Links
}

const linksIn = (index: IndexFile): Effect.Effect<Links> =>
  Effect.map(
    Effect.promise(() => indexLinks(index)),
    (links) => new Map([...links].map(([path, { id }]) => [path, id]))
  )

/** The index of the base of a capture. */
export const baseIndex = (capturing: Capturing): Effect.Effect<BaseIndex, GitError> =>
  Effect.gen(function* () {
    const { base, gitDir } = capturing.request
    const path = baseIndexFile(gitDir, base)
    if (base === null) return { path, index: emptyIndex, links: new Map() }
    const index = (yield* openIndex(path)).index ?? (yield* makeBaseIndex(capturing, base))
    return { path, index, links: yield* linksIn(index) }
  })

const makeBaseIndex = (capturing: Capturing, base: string) =>
  Effect.gen(function* () {
    const { cone, folder, options, request } = capturing
    const { gitDir, workTree } = request
    const made = join(folder, "base")
    yield* git({
      args: ["read-tree", base],
      gitDir,
      workTree,
      indexFile: made,
      settings: cone.settings,
      timeoutMs: options.localTimeoutMs
    })
    const { index } = yield* openIndex(made)
    if (index === null) return yield* notUnderstood("read-tree")
    const all = cone.isSparse
      ? yield* Effect.promise(() => indexNamed(index, ".gitignore"))
      : new Map<string, TreeFile>()
    // git takes the ignore rules of a folder that is not there from the index, if the index says that their file is not needed.
    const rules = [...all.keys()].filter((name) => cone.isOutside(name))
    yield* skipPaths(options, { gitDir, workTree, index: made }, rules)
    yield* inGitDir(() => fs.rename(made, baseIndexFile(gitDir, base)))
    return index
  })
