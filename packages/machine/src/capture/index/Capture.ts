import type { BigIntStats } from "node:fs"
import * as fs from "node:fs/promises"
import { Effect } from "effect"
import {
  attempt,
  type BeneathError,
  type HardLinks,
  inDirectory,
  type OpenDirectory,
  readLink,
  readUpTo,
  withFile
} from "../../files/Beneath.js"
import { hardLinksOf } from "../../files/HardLinks.js"
import { isGitName } from "../../files/WorkspacePath.js"
import { quotedName } from "../../repository/read/Changes.js"
import type { GitError } from "../../repository/run/GitError.js"
import type { GitOptionsShape } from "../../repository/run/GitOptions.js"
import type { BlobWriter } from "./BlobWriter.js"

// Reads single files of a hostile workspace into blobs. Does not decide which files belong to a snapshot.

/** A file of a git tree: its mode as git writes it, and the id of its blob. */
export interface TreeFile {
  readonly mode: string
  readonly id: string
}

/** The state of a file when it was opened, which an index compares with that of later. */
export type FileStat = Pick<BigIntStats, "ctimeNs" | "mtimeNs" | "dev" | "ino" | "uid" | "gid" | "size">

/**
 * The finding at a path: a captured file, nothing (`absent`), or something that cannot be captured (`kept`, because the entry of the base
 * stays in the tree). `note` is a sentence for the diagnostics.
 */
export type PathFinding =
  | {
      readonly state: "file"
      readonly file: TreeFile
      /** The file has more names. One of them may leave the workspace without a trace in this one. */
      readonly isLinked: boolean
      /** The state of the file before its content was read. */
      readonly stat: FileStat
    }
  | {
      readonly state: "absent"
      readonly note?: string
      /** Nothing at all is at the path. */
      readonly isMissing?: true
    }
  | { readonly state: "kept"; readonly note: string }

const quoted = quotedName

const noteOf = (path: string, error: BeneathError): PathFinding => {
  switch (error.reason) {
    case "missing":
    case "link":
    case "not_a_directory":
      return { state: "absent", isMissing: true }
    case "not_a_file":
    case "exists":
      return { state: "absent", note: `${quoted(path)} is not a regular file, directory or symbolic link` }
    case "hard_link":
      return {
        state: "kept",
        note: `${quoted(path)} was left out: it is a hard link to a file outside the workspace. Copy the file instead`
      }
    case "denied":
    case "disk_full":
    case "read_only":
    case "failed":
      return { state: "kept", note: `${quoted(path)} could not be read` }
  }
}

/** The reason why no snapshot can hold this name, or null. */
export const refusedName = (latin1: string): string | null => {
  return Buffer.from(latin1, "latin1").toString("utf8").split("/").some(isGitName)
    ? `${quoted(latin1)} has a name that stands for a git directory`
    : null
}

const tooLarge = (options: GitOptionsShape, path: string): PathFinding => ({
  state: "kept",
  note: `${quoted(path)} is larger than ${options.maxFileBytes} bytes`
})

// Small files are read many at once. Large files are read one after the other in the whole process, which bounds the memory.
const largeBytes = 1024 * 1024
const large = Effect.unsafeMakeSemaphore(1)

interface Source {
  readonly options: GitOptionsShape
  readonly workTree: string
  readonly writer: BlobWriter
  readonly links: HardLinks
}

const captureRegular = ({ links, options }: Source, directory: OpenDirectory, name: Buffer) =>
  withFile(
    directory,
    name,
    async (handle, { isLinked, mode, size, stat }) =>
      size > options.maxFileBytes
        ? null
        : {
            isLinked,
            stat,
            bytes: await readUpTo(handle, size, options.maxFileBytes),
            mode: (mode & 0o100) === 0 ? "100644" : "100755"
          },
    links
  )

const captureEntry = (
  source: Source,
  directory: OpenDirectory,
  path: string,
  name: Buffer
): Effect.Effect<PathFinding, BeneathError | GitError> =>
  Effect.gen(function* () {
    const stat = yield* attempt(name, () => fs.lstat(directory.entry(name), { bigint: true }))
    if (stat.isDirectory()) return { state: "absent" }
    if (stat.isSymbolicLink()) {
      const id = yield* source.writer.put(yield* readLink(directory, name))
      return { state: "file", file: { mode: "120000", id }, isLinked: false, stat }
    }
    const store = Effect.gen(function* () {
      const content = yield* captureRegular(source, directory, name)
      if (content === null) return tooLarge(source.options, path)
      const file = { mode: content.mode, id: yield* source.writer.put(content.bytes, path) }
      return { state: "file" as const, file, isLinked: content.isLinked, stat: content.stat }
    })
    return yield* stat.size > largeBytes ? large.withPermits(1)(store) : store
  })

const splitPath = (path: string): { readonly folder: string; readonly name: string } => {
  const slash = path.lastIndexOf("/")
  return slash < 0 ? { folder: "", name: path } : { folder: path.slice(0, slash), name: path.slice(slash + 1) }
}

/** The names of a latin1 path as bytes, for opening. */
export const latinNames = (latin1: string): ReadonlyArray<Buffer> =>
  latin1 === "" ? [] : latin1.split("/").map((name) => Buffer.from(name, "latin1"))

const captureFolder = (
  source: Source,
  folder: string,
  names: ReadonlyArray<string>
): Effect.Effect<ReadonlyArray<readonly [string, PathFinding]>, GitError> => {
  const pathOf = (name: string) => (folder === "" ? name : `${folder}/${name}`)
  return inDirectory(source.workTree, latinNames(folder), { create: false }, (directory) =>
    Effect.forEach(
      names,
      (name) => {
        const path = pathOf(name)
        return captureEntry(source, directory, path, Buffer.from(name, "latin1")).pipe(
          Effect.catchTag("BeneathError", (error) => Effect.succeed(noteOf(path, error))),
          Effect.map((captured) => [path, captured] as const)
        )
      },
      { concurrency: 4 }
    )
  ).pipe(
    Effect.catchTag("BeneathError", (error) =>
      Effect.succeed(names.map((name) => [pathOf(name), noteOf(pathOf(name), error)] as const))
    )
  )
}

/** Reads every given path (latin1) of the work tree, one folder at a time. */
export const capture = (
  options: GitOptionsShape,
  workTree: string,
  writer: BlobWriter,
  paths: ReadonlyArray<string>
): Effect.Effect<ReadonlyMap<string, PathFinding>, GitError> => {
  const folders = new Map<string, Array<string>>()
  for (const path of paths) {
    const { folder, name } = splitPath(path)
    const names = folders.get(folder)
    if (names === undefined) folders.set(folder, [name])
    else names.push(name)
  }
  const source: Source = { options, workTree, writer, links: hardLinksOf(workTree) }
  return Effect.forEach(folders, ([folder, names]) => captureFolder(source, folder, names), {
    concurrency: 8
  }).pipe(Effect.map((groups) => new Map(groups.flat())))
}
