import { Effect } from "effect"
import type { Cone } from "../../repository/run/Cone.js"
import { git, records } from "../../repository/run/GitCommand.js"
import { type GitError, readOutput } from "../../repository/run/GitError.js"
import type { GitOptionsShape } from "../../repository/run/GitOptions.js"
import type { PathFinding, TreeFile } from "../index/Capture.js"
import { parseBatch } from "./Storing.js"

// Answers from the base of a sparse workspace what the workspace itself cannot tell of paths outside of its cone.

/** A record of `ls-tree`: `<mode> <type> <id> TAB <path>`. Throws at any other. */
const treeFileIn = (record: string): readonly [path: string, file: TreeFile] => {
  const [, mode = "", id = "", path = ""] = /^([0-7]{6}) (?:blob|commit) ([0-9a-f]{40})\t(.+)$/s.exec(record) ?? []
  if (path === "") throw new Error("not an entry of a tree")
  return [path, { mode, id }]
}

/** Every file of a tree by its path (latin1), submodules among them. */
export const treeFiles = (
  options: GitOptionsShape,
  gitDir: string,
  tree: string
): Effect.Effect<ReadonlyMap<string, TreeFile>, GitError> =>
  git({ args: ["ls-tree", "-r", "-z", "--full-tree", tree], gitDir, timeoutMs: options.localTimeoutMs }).pipe(
    Effect.flatMap(({ stdout }) => readOutput("ls-tree", () => new Map(records(stdout).map(treeFileIn))))
  )

/** A trusted git directory, and the commit that its workspace started from. */
interface Origin {
  readonly gitDir: string
  readonly base: string | null
}

/** The `.gitattributes` that the base has in folders of which the workspace has none, by folder. As git does, it takes them from there. */
export const attributesOutside =
  (options: GitOptionsShape, cone: Cone, { base, gitDir }: Origin) =>
  (folders: ReadonlyArray<string>): Effect.Effect<ReadonlyMap<string, Buffer>, GitError> =>
    Effect.gen(function* () {
      const wanted = new Map(folders.map((folder) => [folder === "" ? attributes : `${folder}/${attributes}`, folder]))
      const outside = [...wanted.keys()].filter((path) => cone.isOutside(path) && !cone.removed.has(path))
      if (base === null || outside.length === 0) return new Map()
      const all = yield* treeFiles(options, gitDir, base)
      const found = outside.flatMap((path) => {
        const file = all.get(path)
        return file?.mode.startsWith("100") === true ? [{ id: file.id, folder: wanted.get(path) ?? "" }] : []
      })
      if (found.length === 0) return new Map()
      const ids = found.map(({ id }) => id)
      const { stdout } = yield* git({
        args: ["cat-file", "--batch"],
        gitDir,
        stdin: Buffer.from(ids.map((id) => `${id}\n`).join("")),
        timeoutMs: options.localTimeoutMs
      })
      const contents = yield* readOutput("cat-file", () => parseBatch(stdout, ids))
      return new Map(contents.map((content, at) => [found[at]?.folder ?? "", content]))
    })

const attributes = ".gitattributes"

/** The folders above paths, the root not among them. */
export const foldersAbove = (paths: ReadonlyArray<string>): ReadonlyArray<string> => {
  const found = new Set<string>()
  for (const path of paths)
    for (let at = path.lastIndexOf("/"); at > 0 && !found.has(path.slice(0, at)); at = path.lastIndexOf("/", at - 1))
      found.add(path.slice(0, at))
  return [...found]
}

/** Tells an index that these paths need no file. */
export const skipPaths = (
  options: GitOptionsShape,
  request: { readonly gitDir: string; readonly workTree: string; readonly index: string },
  paths: ReadonlyArray<string>
): Effect.Effect<void, GitError> =>
  paths.length === 0
    ? Effect.void
    : Effect.asVoid(
        git({
          args: ["update-index", "--skip-worktree", "-z", "--stdin"],
          gitDir: request.gitDir,
          workTree: request.workTree,
          indexFile: request.index,
          stdin: Buffer.from(paths.map((path) => `${path}\0`).join(""), "latin1"),
          timeoutMs: options.localTimeoutMs
        })
      )

/**
 * The paths whose files a sparse workspace never had, so that a capture leaves them unchanged. Nothing is there, nothing wanted has taken the
 * place of a folder above, and no applied change has removed them.
 */
export const neverThere = (
  cone: Cone,
  captured: ReadonlyMap<string, PathFinding>,
  wanted: ReadonlyMap<string, TreeFile>
): ReadonlyArray<string> =>
  cone.isSparse
    ? [...captured].flatMap(([path, result]) =>
        result.state === "absent" &&
        result.isMissing === true &&
        cone.isOutside(path) &&
        !cone.removed.has(path) &&
        !isBelowFile(path, wanted)
          ? [path]
          : []
      )
    : []

/** True for a path in whose folder's place a file stands. */
export const isBelowFile = (path: string, files: ReadonlyMap<string, TreeFile>): boolean => {
  for (let at = path.indexOf("/"); at > 0; at = path.indexOf("/", at + 1)) if (files.has(path.slice(0, at))) return true
  return false
}
