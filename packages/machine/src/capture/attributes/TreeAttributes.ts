import { isUtf8 } from "node:buffer"
import { Effect } from "effect"
import { git, records } from "../../repository/run/GitCommand.js"
import { GitError, readOutput } from "../../repository/run/GitError.js"
import type { GitOptionsShape } from "../../repository/run/GitOptions.js"
import { type Attributes, type AttributesFile, attributesOf, foldersOf } from "./Attributes.js"
import { blobHeads } from "./BlobHeads.js"

// Asks for the attributes that a tree of the trusted directory gives to paths. No file of a workspace is read.

/** An entry of a tree that is no folder. Its path is latin1. */
export interface TreeRecord {
  readonly mode: string
  readonly id: string
  readonly path: string
}

/** A record of `ls-tree`: `<mode> <type> <id> TAB <path>`. Throws at any other record. */
export const parseTreeRecord = (record: string): TreeRecord => {
  const [, mode = "", id = "", path = ""] = /^([0-7]{6}) (?:blob|commit|tree) ([0-9a-f]{40})\t(.+)$/s.exec(record) ?? []
  if (path === "") throw new Error("not an entry of a tree")
  return { mode, id, path }
}

const listTree = (options: GitOptionsShape, gitDir: string, args: ReadonlyArray<string>) =>
  git({ args: ["ls-tree", "-z", "--full-tree", ...args], gitDir, timeoutMs: options.localTimeoutMs }).pipe(
    Effect.flatMap(({ stdout }) => readOutput("ls-tree", () => records(stdout).map(parseTreeRecord)))
  )

/** Every file, link and submodule of a tree. */
export const treeRecords = (
  options: GitOptionsShape,
  gitDir: string,
  tree: string
): Effect.Effect<ReadonlyArray<TreeRecord>, GitError> => listTree(options, gitDir, ["-r", tree])

/** Where attributes stand in a folder. */
const attributesName = ".gitattributes"

/** The folder (latin1) whose attributes an entry of a tree holds; undefined for any other entry. As git does, it passes over a link. */
const folderOf = ({ mode, path }: TreeRecord): string | undefined => {
  if (!mode.startsWith("100")) return undefined
  if (path === attributesName) return ""
  return path.endsWith(`/${attributesName}`) ? path.slice(0, -attributesName.length - 1) : undefined
}

/** More names than this make a list of the whole tree cheaper. */
const maxNamed = 200

/** A text of attributes has never so many bytes. git itself takes no more than six times as many. */
const maxAttributesBytes = 16 * 1024 * 1024

const tooLarge = new GitError({
  kind: "conflict",
  message: `A ${attributesName} of the repository has more than ${maxAttributesBytes} bytes: make it smaller.`
})

/** The texts of attributes among entries of a tree. */
export const attributesAmong = (options: GitOptionsShape, gitDir: string, entries: ReadonlyArray<TreeRecord>) =>
  Effect.gen(function* () {
    const places = entries.flatMap((entry) => {
      const folder = folderOf(entry)
      return folder === undefined ? [] : [{ folder, id: entry.id }]
    })
    const texts = yield* blobHeads(
      options,
      gitDir,
      places.map(({ id }) => id),
      maxAttributesBytes
    )
    const files: Array<AttributesFile> = []
    for (const { folder, id } of places) {
      const text = texts.get(id)
      if (text === undefined || text.size > maxAttributesBytes) return yield* tooLarge
      files.push({ folder, text: text.head })
    }
    return files
  })

/** The entries of a tree that may give attributes to the paths. */
const namedEntries = (options: GitOptionsShape, gitDir: string, tree: string, paths: ReadonlyArray<string>) => {
  const names = [...foldersOf(paths)].map((folder) =>
    Buffer.from(folder === "" ? attributesName : `${folder}/${attributesName}`, "latin1")
  )
  // An argument of a process is UTF-8.
  return names.length <= maxNamed && names.every((name) => isUtf8(name))
    ? listTree(options, gitDir, [tree, "--", ...names.map((name) => name.toString("utf8"))])
    : treeRecords(options, gitDir, tree)
}

/** The values of the attribute `filter` by path (latin1), as a tree gives them. `place` is a private folder that is not there yet. */
export const treeFilters = (
  options: GitOptionsShape,
  request: {
    readonly gitDir: string
    readonly tree: string
    readonly place: string
    readonly paths: ReadonlyArray<string>
    /** The entries of attributes in the tree, where they are known. */
    readonly attributes?: ReadonlyArray<TreeRecord>
  }
): Effect.Effect<ReadonlyMap<string, Attributes>, GitError> =>
  Effect.gen(function* () {
    const { gitDir, paths, place, tree } = request
    if (paths.length === 0) return new Map<string, Attributes>()
    const folders = foldersOf(paths)
    const named =
      request.attributes?.filter((entry) => folders.has(folderOf(entry) ?? "/")) ??
      (yield* namedEntries(options, gitDir, tree, paths))
    const files = yield* attributesAmong(options, gitDir, named)
    return yield* attributesOf(options, { place, files, paths, names: ["filter"] })
  })
