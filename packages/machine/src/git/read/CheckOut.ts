import { Effect } from "effect"
import { foldersAbove, treeFiles } from "../../capture/files/Outside.js"
import { cachedIndex, requireTrusted } from "../../repository/Repository.js"
import { rawChanges } from "../../repository/read/Changes.js"
import { gitlink } from "../../repository/read/GitModules.js"
import { linksOf, writeLinks } from "../../repository/read/Links.js"
import { readCone } from "../../repository/run/Cone.js"
import { git, records } from "../../repository/run/GitCommand.js"
import { readOutput } from "../../repository/run/GitError.js"
import type { GitOptionsShape } from "../../repository/run/GitOptions.js"
import type { TreeRequest } from "./Tree.js"

/** A commit to write to a folder that has none of its files. */
export interface CheckOutRequest {
  readonly gitDir: string
  readonly workTree: string
  /** The commit that the workspace started from; null when it started empty. */
  readonly base: string | null
  readonly commit: string
}

/** See `Git.checkOut`. */
export const checkOut = Effect.fnUntraced(function* (options: GitOptionsShape, request: CheckOutRequest) {
  const { base, commit, gitDir, workTree } = request
  yield* requireTrusted(gitDir, commit, ...(base === null ? [] : [base]))
  const { isOutside, isSparse, settings } = yield* readCone(gitDir)
  const files = { gitDir, workTree, indexFile: cachedIndex(gitDir), settings, timeoutMs: options.localTimeoutMs }
  yield* git({ ...files, args: ["read-tree", "--reset", "-u", commit] })
  if (isSparse) {
    const write = (paths: ReadonlyArray<string>) =>
      git({
        ...files,
        args: ["checkout-index", "-z", "--stdin", "--index", "--quiet", "--ignore-skip-worktree-bits"],
        stdin: Buffer.from(paths.map((path) => `${path}\0`).join(""), "latin1")
      })
    // A file outside of the cone that differs from the base was there. The attributes decide how the others are written.
    const changes = yield* rawChanges(options, gitDir, base, commit)
    const there = changes
      .filter(({ letter, newMode, path }) => letter !== "D" && newMode !== gitlink && isOutside(path))
      .map(({ path }) => path)
    const attributes = new Set(foldersAbove(there).map((folder) => `${folder}/.gitattributes`))
    const all = attributes.size === 0 ? new Map() : yield* treeFiles(options, gitDir, commit)
    yield* write([...attributes].filter((path) => isOutside(path) && all.has(path)))
    yield* write(there.filter((path) => !attributes.has(path)))
  }
  yield* writeLinks(gitDir, yield* linksOf(options, gitDir, commit))
})

/** See `Git.treeModes`. */
export const treeModes = Effect.fnUntraced(function* (options: GitOptionsShape, request: TreeRequest) {
  yield* requireTrusted(request.gitDir, request.tree)
  const { stdout } = yield* git({
    args: ["ls-tree", "-r", "-z", "--full-tree", request.tree],
    gitDir: request.gitDir,
    timeoutMs: options.localTimeoutMs
  })
  return yield* readOutput("ls-tree", () => new Map(records(stdout).map(modeIn)))
})

/** A record of `ls-tree`: `<mode> <type> <id> TAB <path>`. Throws at any other. */
export const modeIn = (record: string): readonly [path: string, mode: string] => {
  const [, mode = "", path = ""] = /^([0-7]{6}) (?:blob|commit) [0-9a-f]{40}\t(.+)$/s.exec(record) ?? []
  if (path === "") throw new Error("not an entry of a tree")
  return [path, mode]
}
