import { isUtf8 } from "node:buffer"
import { randomUUID } from "node:crypto"
import { mkdir, rename, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { bytesText, pathBytes, pathText } from "../../files/NameText.js"
import { requireTrusted } from "../../repository/Repository.js"
import {
  type FileChange,
  type FoundChange,
  foundChanges,
  type RawChange,
  rawChanges,
  shownName,
  submodulesToo
} from "../../repository/read/Changes.js"
import { emptyTree, type GitInvocation, git } from "../../repository/run/GitCommand.js"
import { GitError, onDisk } from "../../repository/run/GitError.js"
import type { GitOptionsShape } from "../../repository/run/GitOptions.js"
import { type DiffLimits, filesOfPatch, limitParts } from "./DiffLimits.js"

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

/** A unified diff for people, and the files that it is about. `truncated` says that `omitted` names files whose lines were left out. */
export interface DiffText {
  readonly diff: string
  readonly files: ReadonlyArray<FileChange>
  readonly truncated: boolean
  readonly omitted: ReadonlyArray<Omission>
}

/** The lines of a file that a diff does not show, or shows in part. */
export interface Omission {
  readonly path: string
  readonly additions: number
  readonly deletions: number
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
  submodulesToo,
  ...flags,
  request.base ?? emptyTree,
  request.tree
]

/** A file that becomes a link, or a link that becomes a file, has two parts in a patch: one removes it, one makes it. */
const partsFor = ({ letter }: RawChange): number => (letter === "T" ? 2 : 1)

/** The text of a diff within the limits, and what they leave out of it. The changes are in the order of the patch. */
export const limitDiff = (
  patch: Buffer,
  complete: boolean,
  changes: ReadonlyArray<FoundChange>,
  limits: DiffLimits
): DiffText => {
  const { parts, truncated } = limitParts(patch, complete, limits)
  const left = [...parts]
  const texts: Array<string> = []
  const omitted: Array<Omission> = []
  for (const change of changes) {
    const own = left.splice(0, partsFor(change))
    texts.push(...own.map(({ text }) => partText(text, change)))
    const shown = (of: "additions" | "deletions") => own.reduce((sum, part) => sum + part[of], 0)
    const { additions, binary, deletions, path } = change.file
    const isWhole = own.length === partsFor(change) && own.every(({ cut }) => !cut)
    if (!isWhole)
      omitted.push({
        path,
        additions: binary ? 0 : additions - shown("additions"),
        deletions: binary ? 0 : deletions - shown("deletions")
      })
  }
  return { diff: texts.join(""), files: changes.map(({ file }) => file), truncated, omitted }
}

/** A part of a diff as text. Bytes of the content that are not UTF-8 stand in octal, and names as `nameText` writes them. */
const partText = (part: Buffer, { oldPath, path }: RawChange): string => {
  if (isUtf8(part)) return part.toString("utf8")
  const hunks = part.indexOf("\n@@ ") + 1
  const head = part.subarray(0, hunks === 0 ? part.length : hunks)
  if (isUtf8(head)) return bytesText(part)
  const named = (prefix: string, name: string) => pathText(Buffer.from(`${prefix}${name}`, "latin1"))
  const [, ...rest] = head.toString("latin1").split("\n")
  const lines = rest.map((line) => {
    const [, before = "", name = ""] = /^(rename from |rename to |--- |\+\+\+ )"?(.*?)"?\t?$/.exec(line) ?? []
    return before === "" ? bytesText(Buffer.from(line, "latin1")) : `${before}${named("", name)}`
  })
  const first = `diff --git ${named("a/", oldPath ?? path)} ${named("b/", path)}`
  return [first, ...lines].join("\n") + (hunks === 0 ? "" : bytesText(part.subarray(hunks)))
}

/** The changes at a path or below it, by the name before or after. */
const changesAt = (changes: ReadonlyArray<FoundChange>, text: string): ReadonlyArray<FoundChange> => {
  const wanted = pathBytes(text.replace(/(?<!\/)\/+$/, "")).toString("latin1")
  const isAt = (path: string | null) => path !== null && (path === wanted || path.startsWith(`${wanted}/`))
  return changes.filter(({ oldPath, path }) => isAt(path) || isAt(oldPath))
}

/** Runs `use` with a file of patterns that put the paths first in a diff. */
const withOrder = <A, E, R>(
  gitDir: string,
  paths: ReadonlyArray<string>,
  use: (file: string) => Effect.Effect<A, E, R>
) => {
  const file = join(gitDir, `reins-order-${randomUUID()}`)
  // A pattern stands on one line, so it matches a line feed in a name by any character.
  const patterns = paths.map((path) => path.replace(/[\\*?[\]#!]/g, "\\$&").replaceAll("\n", "?"))
  return Effect.acquireUseRelease(
    inGitDir(() => writeFile(file, `${patterns.join("\n")}\n`, "latin1")),
    () => use(file),
    () => Effect.promise(() => rm(file, { force: true }))
  )
}

/** See `Git.diff`. */
export const diff = Effect.fnUntraced(function* (options: GitOptionsShape, request: DiffRequest) {
  yield* requireTrusted(request.gitDir, request.tree, ...(request.base === null ? [] : [request.base]))
  const context = Math.min(Math.max(Math.trunc(request.context ?? 3), 0), 100)
  const read = (order: ReadonlyArray<string>) =>
    git({
      args: diffArgs(request, ["--find-renames", `--unified=${context}`, ...order]),
      gitDir: request.gitDir,
      maxStdoutBytes: maxReadBytes,
      timeoutMs: options.localTimeoutMs
    })
  const found = foundChanges(options, request.gitDir, request.base, request.tree)
  if (request.path === undefined || request.path === "") {
    const [changes, output] = yield* Effect.all([found, read([])], { concurrency: 2 })
    return limitDiff(output.stdout, !output.truncated, changes, options)
  }
  // git finds renames among the paths that it is given, so it is given all of them, and those that are asked for come first.
  const changes = changesAt(yield* found, request.path)
  if (changes.length === 0) return limitDiff(Buffer.alloc(0), true, changes, options)
  const order = changes.map(({ path }) => path)
  const output = yield* withOrder(request.gitDir, order, (file) => read([`-O${file}`]))
  const wanted = changes.reduce((sum, change) => sum + partsFor(change), 0)
  const parts = filesOfPatch(output.stdout)
  const isComplete = !output.truncated || parts.length > wanted
  return limitDiff(Buffer.concat(parts.slice(0, wanted)), isComplete, changes, options)
})

/** See `Git.patch`. */
export const makePatch = Effect.fnUntraced(function* (options: GitOptionsShape, request: PatchRequest) {
  yield* requireTrusted(request.gitDir, request.tree, ...(request.base === null ? [] : [request.base]))
  const changes = yield* rawChanges(options, request.gitDir, request.base, request.tree)
  if (changes.length === 0) return ""
  const readable = yield* patchOf(options, request, { gitDir: request.gitDir }, [])
  if (isText(readable)) return readable.toString("utf8")
  const parts = filesOfPatch(readable)
  const paths = changes.flatMap((change) => (partsFor(change) === 2 ? [change.path, change.path] : [change.path]))
  const unreadable = new Set(paths.filter((_, at) => !isText(parts[at] ?? Buffer.alloc(0))))
  // git takes the paths as arguments, which are UTF-8.
  const isKnown = paths.length === parts.length && paths.every((path) => isText(Buffer.from(path, "latin1")))
  const kept = paths.flatMap((path, at) => (isKnown && !unreadable.has(path) ? [parts[at] ?? Buffer.alloc(0)] : []))
  const encoded = yield* patchOf(options, request, yield* allBinary(request.gitDir), isKnown ? [...unreadable] : [])
  return Buffer.concat([...kept, encoded]).toString("utf8")
})

const inGitDir = <A>(run: () => Promise<A>) => onDisk("The git directory could not be written", run)

/** A second git directory over the same objects, in which a patch holds every file in base 85, and names that are not ASCII in octal. */
const allBinary = (gitDir: string) =>
  inGitDir(async () => {
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
    return {
      gitDir: view,
      env: { GIT_OBJECT_DIRECTORY: join(gitDir, "objects") },
      settings: ["core.quotePath=true"]
    }
  })

/** True for bytes that a text of the API and of a database can hold. */
const isText = (bytes: Buffer): boolean => isUtf8(bytes) && !bytes.includes(0)

const patchOf = (
  options: GitOptionsShape,
  request: PatchRequest,
  view: Pick<GitInvocation, "gitDir" | "env" | "settings">,
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
