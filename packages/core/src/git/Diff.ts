import { isUtf8 } from "node:buffer"
import { randomUUID } from "node:crypto"
import { mkdir, rename, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { rawChanges, shownName } from "./Changes.js"
import { emptyTree, type GitInvocation, git } from "./GitCommand.js"
import { GitError } from "./GitError.js"
import type { GitOptionsShape } from "./GitOptions.js"
import { requireTrusted } from "./Repository.js"

/** A tree, and the commit that it is shown against (null: nothing). */
export interface DiffRequest {
  readonly gitDir: string
  readonly base: string | null
  readonly tree: string
  /** One file or folder. */
  readonly path?: string
  /** Lines around each change. Default 3, at most 100. */
  readonly context?: number
}

/** A unified diff for people; `truncated` says that files or hunks were left out. */
export interface Diff {
  readonly diff: string
  readonly truncated: boolean
}

/** A tree, and the commit that the patch applies to (null: an empty tree). */
export interface PatchRequest {
  readonly gitDir: string
  readonly base: string | null
  readonly tree: string
  /** Default 64 MiB. */
  readonly maxBytes?: number
}

// The most that is read from git before the limits cut it. It is above them, so that a few large files do not hide small ones behind them.
const maxReadBytes = 16 * 1024 * 1024

const diffArgs = (request: { readonly base: string | null; readonly tree: string }, flags: ReadonlyArray<string>) => [
  "diff-tree",
  "-r",
  "--patch",
  "--no-color",
  "--no-ext-diff",
  "--no-textconv",
  ...flags,
  request.base ?? emptyTree,
  request.tree
]

// Lines of content start with a space, `+`, `-` or a backslash, so no line of content is taken for a marker.
const startsOf = (patch: Buffer, marker: string): ReadonlyArray<number> => {
  const starts: Array<number> = patch.subarray(0, marker.length).toString("latin1") === marker ? [0] : []
  for (let at = patch.indexOf(`\n${marker}`); at >= 0; at = patch.indexOf(`\n${marker}`, at + 1)) starts.push(at + 1)
  return starts
}

const cutFile = (file: Buffer, maxFileBytes: number): { readonly text: Buffer; readonly cut: boolean } => {
  if (file.length <= maxFileBytes) return { text: file, cut: false }
  const hunks = startsOf(file, "@@ ")
  const fitting = hunks.filter((at) => at <= maxFileBytes)
  return { text: file.subarray(0, fitting.at(-1) ?? 0), cut: true }
}

/** Cuts a patch to its limits at the edges of files and hunks, so that the rest still reads as a patch. */
export const limitDiff = (
  patch: Buffer,
  complete: boolean,
  options: Pick<GitOptionsShape, "maxDiffBytes" | "maxDiffFileBytes" | "maxDiffFiles">
): Diff => {
  const starts = startsOf(patch, "diff --git ")
  const kept: Array<Buffer> = []
  let size = 0
  let truncated = !complete || starts.length > options.maxDiffFiles
  for (const [number, start] of starts.slice(0, options.maxDiffFiles).entries()) {
    const next = starts[number + 1]
    // The last file of an incomplete patch may end in the middle of a line.
    if (next === undefined && !complete) break
    const { cut, text } = cutFile(patch.subarray(start, next ?? patch.length), options.maxDiffFileBytes)
    if (size + text.length > options.maxDiffBytes) {
      truncated = true
      break
    }
    truncated ||= cut
    size += text.length
    kept.push(text)
  }
  return { diff: Buffer.concat(kept).toString("utf8"), truncated }
}

/** See `Git.diff`. */
export const diff = Effect.fnUntraced(function* (options: GitOptionsShape, request: DiffRequest) {
  yield* requireTrusted(request.gitDir, request.tree, ...(request.base === null ? [] : [request.base]))
  const context = Math.min(Math.max(Math.trunc(request.context ?? 3), 0), 100)
  const output = yield* git({
    args: [
      ...diffArgs(request, ["--find-renames", `--unified=${context}`]),
      ...(request.path === undefined || request.path === "" ? [] : ["--", request.path])
    ],
    gitDir: request.gitDir,
    maxStdoutBytes: maxReadBytes,
    timeoutMs: options.localTimeoutMs
  })
  return limitDiff(output.stdout, !output.truncated, options)
})

/** See `Git.patch`. */
export const patch = Effect.fnUntraced(function* (options: GitOptionsShape, request: PatchRequest) {
  yield* requireTrusted(request.gitDir, request.tree, ...(request.base === null ? [] : [request.base]))
  const changes = yield* rawChanges(options, request.gitDir, request.base, request.tree)
  if (changes.length === 0) return ""
  const readable = yield* patchOf(options, request, { gitDir: request.gitDir }, [])
  if (isText(readable)) return readable.toString("utf8")
  const starts = startsOf(readable, "diff --git ")
  // A file that becomes a link, or a link that becomes a file, has two parts in a patch: one removes it, one makes it.
  const paths = changes.flatMap(({ letter, path }) => (letter === "T" ? [path, path] : [path]))
  const unreadable = new Set(paths.filter((_, at) => !isText(readable.subarray(starts[at], starts[at + 1]))))
  const isKnown = paths.length === starts.length
  const kept = paths.flatMap((path, at) =>
    isKnown && !unreadable.has(path) ? [readable.subarray(starts[at], starts[at + 1])] : []
  )
  const encoded = yield* patchOf(options, request, yield* allBinary(request.gitDir), isKnown ? [...unreadable] : [])
  return Buffer.concat([...kept, encoded]).toString("utf8")
})

/** A second git directory over the same objects, in which a patch holds every file in base 85. */
const allBinary = (gitDir: string) =>
  Effect.tryPromise({
    try: async () => {
      const view = join(gitDir, "reins-binary")
      await mkdir(join(view, "info"), { recursive: true })
      await mkdir(join(view, "refs"), { recursive: true })
      // Another delivery of the session may be reading the files, so each is moved into place when it is whole.
      const put = async (name: string, text: string) => {
        const aside = join(view, randomUUID())
        await writeFile(aside, text)
        await rename(aside, join(view, name))
      }
      await put("info/attributes", "* -diff\n")
      await put("HEAD", "ref: refs/heads/none\n")
      return { gitDir: view, env: { GIT_OBJECT_DIRECTORY: join(gitDir, "objects") } }
    },
    catch: () =>
      new GitError({ kind: "internal", message: "The git directory could not be written: check the data directory." })
  })

/** True for bytes that a text of the API and of a database can hold. */
const isText = (bytes: Buffer): boolean => isUtf8(bytes) && !bytes.includes(0)

const patchOf = (
  options: GitOptionsShape,
  request: PatchRequest,
  view: Pick<GitInvocation, "gitDir" | "env">,
  latin1Paths: ReadonlyArray<string>
) =>
  git({
    ...view,
    args: [
      ...diffArgs(request, ["--binary", "--full-index", "--no-renames"]),
      ...(latin1Paths.length === 0 ? [] : ["--", ...latin1Paths.map(shownName)])
    ],
    maxStdoutBytes: request.maxBytes ?? 64 * 1024 * 1024,
    timeoutMs: options.localTimeoutMs
  }).pipe(
    Effect.filterOrFail(
      ({ truncated }) => !truncated,
      () => new GitError({ kind: "conflict", message: "The change is too large for a patch: deliver it as a branch." })
    ),
    Effect.map(({ stdout }) => stdout)
  )
