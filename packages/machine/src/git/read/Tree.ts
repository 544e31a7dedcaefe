import { isUtf8 } from "node:buffer"
import { createHash } from "node:crypto"
import { Effect } from "effect"
import { pathBytes } from "../../files/NameText.js"
import { requireTrusted } from "../../repository/Repository.js"
import { shownName } from "../../repository/read/Changes.js"
import { git, records } from "../../repository/run/GitCommand.js"
import { GitError, readOutput } from "../../repository/run/GitError.js"
import type { GitOptionsShape } from "../../repository/run/GitOptions.js"

/** A tree of a trusted git directory. */
export interface TreeRequest {
  readonly gitDir: string
  readonly tree: string
}

/** One file of a tree. `mode` is git's; `size` is in bytes, 0 for a submodule. */
export interface TreeEntry {
  readonly path: string
  readonly mode: string
  readonly size: number
}

/** One file of a tree. */
export interface BlobRequest extends TreeRequest {
  readonly path: string
  readonly maxBytes: number
}

/** The content of a file, cut at `maxBytes`. `size` and `digest` are of the whole content. */
export interface Blob {
  readonly bytes: Uint8Array
  readonly size: number
  readonly digest: string
  readonly truncated: boolean
  readonly mode: string
}

const maxEntries = 100_000

interface Listed {
  readonly mode: string
  readonly type: string
  readonly id: string
  readonly size: number
  readonly path: string
}

/** A record of `ls-tree --long`: `<mode> <type> <id> <size> TAB <path>`. Only a blob has a size. Throws at any other record. */
export const parseListed = (record: string): Listed => {
  const [, mode = "", type = "", id = "", size = "", path = ""] =
    /^([0-7]{6}) (blob|commit|tree) ([0-9a-f]{40}) +(\d+|-)\t(.+)$/s.exec(record) ?? []
  if (path === "" || (type === "blob") !== (size !== "-")) throw new Error("not an entry of a tree")
  return { mode, type, id, size: size === "-" ? 0 : Number(size), path }
}

const lsTree = (options: GitOptionsShape, request: TreeRequest, args: ReadonlyArray<string>) =>
  git({
    args: ["ls-tree", "-z", "--long", "--full-tree", ...args],
    gitDir: request.gitDir,
    timeoutMs: options.localTimeoutMs
  }).pipe(Effect.flatMap(({ stdout }) => readOutput("ls-tree", () => records(stdout).map(parseListed))))

/** See `Git.listTree`. */
export const listTree = Effect.fnUntraced(function* (options: GitOptionsShape, request: TreeRequest) {
  yield* requireTrusted(request.gitDir, request.tree)
  const listed = yield* lsTree(options, request, ["-r", request.tree])
  const items = listed
    .slice(0, maxEntries)
    .map((entry): TreeEntry => ({ path: shownName(entry.path), mode: entry.mode, size: entry.size }))
  return { items, truncated: listed.length > maxEntries }
})

const readObject = (options: GitOptionsShape, request: BlobRequest, id: string) => {
  const hash = createHash("sha256")
  const pieces: Array<Buffer> = []
  let size = 0
  const take = (chunk: Buffer) => {
    hash.update(chunk)
    if (size < request.maxBytes) pieces.push(chunk.subarray(0, request.maxBytes - size))
    size += chunk.length
  }
  return git({
    args: ["cat-file", "blob", id],
    gitDir: request.gitDir,
    maxStdoutBytes: Number.POSITIVE_INFINITY,
    onStdout: take,
    timeoutMs: options.localTimeoutMs
  }).pipe(
    Effect.map(() => ({
      bytes: Buffer.concat(pieces),
      size,
      digest: `sha256:${hash.digest("hex")}`,
      truncated: size > request.maxBytes
    }))
  )
}

/** See `Git.readBlob`. */
export const readBlob = Effect.fnUntraced(function* (options: GitOptionsShape, request: BlobRequest) {
  yield* requireTrusted(request.gitDir, request.tree)
  const bytes = pathBytes(request.path)
  const wanted = bytes.toString("latin1")
  const plain = !request.path.includes("\0") && !request.path.split("/").some((name) => ["", ".", ".."].includes(name))
  const listed = plain
    ? yield* lsTree(
        options,
        request,
        isUtf8(bytes) ? [request.tree, "--", bytes.toString("utf8")] : ["-r", request.tree]
      )
    : []
  const entry = listed.find((found) => found.path === wanted && found.type === "blob")
  if (entry === undefined) {
    return yield* new GitError({
      kind: "not_found",
      message: "The tree has no file of that path: list the files for the paths that it has."
    })
  }
  const content = yield* readObject(options, request, entry.id)
  const blob: Blob = { ...content, mode: entry.mode }
  return blob
})
