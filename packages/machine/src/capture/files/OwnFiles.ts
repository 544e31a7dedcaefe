import * as fs from "node:fs/promises"
import { join } from "node:path"
import { isDeepStrictEqual } from "node:util"
import { Effect, Ref } from "effect"
import { attempt, inDirectory } from "../../files/Beneath.js"
import { git } from "../../repository/run/GitCommand.js"
import { type GitError, onDisk } from "../../repository/run/GitError.js"
import type { GitOptionsShape } from "../../repository/run/GitOptions.js"
import { type BlobWriter, blobId } from "../index/BlobWriter.js"
import { capture, latinNames, type TreeFile } from "../index/Capture.js"

// Knows what the program of an agent writes into a workspace for itself. Its model has no part in that, so no snapshot holds it.

/** The places that the program of an agent writes for itself. Paths are relative to the workspace, with slashes. */
export interface OwnPlaces {
  /** Files and, with a slash at the end, folders that the program may rewrite while it opens a session, before its model is asked for anything. */
  readonly settings: ReadonlyArray<string>
  /** Folders that the program installs an npm package into, at any time. */
  readonly packages: ReadonlyArray<OwnPackage>
}

export interface OwnPackage {
  readonly folder: string
  readonly package: string
}

/** A workspace, and the places of the agent that is about to work in it. */
export interface OwnRequest extends OwnPlaces {
  readonly gitDir: string
  readonly workTree: string
}

/** A file that the program rewrote: as it left it, and as it found it. Null stands for no file. */
interface Rewritten {
  readonly was: TreeFile | null
  readonly is: { readonly mode: string; readonly base64: string } | null
}

/** All that is known of the programs that have worked in a workspace. */
export interface KnownPrograms {
  readonly rewritten: ReadonlyMap<string, Rewritten>
  readonly packages: ReadonlyArray<OwnPackage>
}

/** The name of the record in a trusted git directory. */
const ownFilesRecord = "reins-own-files"

/** Larger files are no settings. */
const maxBytes = 256 * 1024
const maxFiles = 500
const maxDepth = 6

const none: KnownPrograms = { rewritten: new Map(), packages: [] }

const atDisk = <A>(run: () => Promise<A>) => onDisk("The record of the agent's own files could not be kept", run)

/** The record of a trusted git directory; empty where no agent has opened a session yet. */
export const readOwnFiles = (gitDir: string): Effect.Effect<KnownPrograms, GitError> =>
  atDisk(async () => {
    const text = await fs.readFile(join(gitDir, ownFilesRecord), "utf8").catch((cause: unknown) => {
      if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return null
      throw cause
    })
    if (text === null) return none
    const read: { rewritten: ReadonlyArray<readonly [string, Rewritten]>; packages: ReadonlyArray<OwnPackage> } =
      JSON.parse(text)
    return { rewritten: new Map(read.rewritten), packages: read.packages }
  })

const writeOwnFiles = (gitDir: string, { packages, rewritten }: KnownPrograms): Effect.Effect<void, GitError> =>
  atDisk(async () => {
    const path = join(gitDir, ownFilesRecord)
    await fs.writeFile(`${path}.new`, JSON.stringify({ rewritten: [...rewritten], packages }))
    await fs.rename(`${path}.new`, path)
  })

const isSame = (left: TreeFile | null | undefined, right: TreeFile | null | undefined): boolean =>
  left?.id === right?.id && left?.mode === right?.mode

/** The files below a folder of the workspace, never through a link. Installed packages are none of them. */
const filesBelow = (workTree: string, folder: string, depth = 0): Effect.Effect<ReadonlyArray<string>> =>
  inDirectory(workTree, latinNames(folder), { create: false }, (directory) =>
    attempt(folder, () => fs.readdir(directory.entry("."), { encoding: "latin1", withFileTypes: true }))
  ).pipe(
    Effect.catchTag("BeneathError", () => Effect.succeed([])),
    Effect.flatMap((entries) =>
      Effect.forEach(entries, (entry) => {
        const path = `${folder}/${entry.name}`
        if (!entry.isDirectory()) return Effect.succeed([path])
        return entry.name === "node_modules" || depth === maxDepth
          ? Effect.succeed([])
          : filesBelow(workTree, path, depth + 1)
      })
    ),
    Effect.map((paths) => paths.flat())
  )

interface Seen {
  readonly file: TreeFile
  readonly bytes: Buffer
}

/** The small files at these paths. Null stands for no file, and a path that cannot be captured is not told. */
const readFiles = (options: GitOptionsShape, workTree: string, paths: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const contents = new Map<string, Buffer>()
    const writer: BlobWriter = {
      put: (bytes) =>
        Effect.sync(() => {
          const id = blobId(bytes)
          contents.set(id, bytes)
          return id
        })
    }
    const small = { ...options, maxFileBytes: Math.min(options.maxFileBytes, maxBytes) }
    const captured = yield* capture(small, workTree, writer, paths)
    return new Map(
      [...captured].flatMap(([path, found]): ReadonlyArray<readonly [string, Seen | null]> => {
        if (found.state === "absent") return [[path, null]]
        const bytes = found.state === "file" ? contents.get(found.file.id) : undefined
        return found.state === "file" && bytes !== undefined ? [[path, { file: found.file, bytes }]] : []
      })
    )
  })

const look = (options: GitOptionsShape, { settings, workTree }: OwnRequest) =>
  Effect.gen(function* () {
    const listed = yield* Effect.forEach(settings, (place) =>
      place.endsWith("/") ? filesBelow(workTree, place.slice(0, -1)) : Effect.succeed([place])
    )
    return yield* readFiles(options, workTree, [...new Set(listed.flat())].slice(0, maxFiles))
  })

type Looked = ReadonlyMap<string, Seen | null>

/** The files that the program has rewritten between two looks, and those that it had rewritten before. */
const compared = (known: KnownPrograms["rewritten"], before: Looked, after: Looked): KnownPrograms["rewritten"] => {
  const rewritten = new Map(known)
  for (const path of new Set([...before.keys(), ...after.keys()])) {
    const [found, left] = [before.get(path) ?? null, after.get(path) ?? null]
    // A file that one look could not read is nobody's.
    const isTold = (looked: Looked) => looked.has(path) || looked.size < maxFiles
    if (isSame(found?.file, left?.file) || !isTold(before) || !isTold(after)) continue
    const earlier = known.get(path)
    const is =
      earlier !== undefined && isSame(earlier.was, found?.file)
        ? earlier.is
        : found && { mode: found.file.mode, base64: found.bytes.toString("base64") }
    rewritten.set(path, { was: left?.file ?? null, is })
  }
  return rewritten
}

/** See `Git.watchOwnFiles`. */
export const watchOwnFiles = Effect.fnUntraced(function* (options: GitOptionsShape, request: OwnRequest) {
  const before = yield* look(options, request)
  const isDone = yield* Ref.make(false)
  return Effect.gen(function* () {
    if (yield* Ref.getAndSet(isDone, true)) return
    const after = yield* look(options, request)
    const known = yield* readOwnFiles(request.gitDir)
    const rewritten = compared(known.rewritten, before, after)
    const added = request.packages.filter((each) => !known.packages.some((other) => isDeepStrictEqual(other, each)))
    const isNew = added.length > 0 || !isDeepStrictEqual(rewritten, known.rewritten)
    if (isNew) yield* writeOwnFiles(request.gitDir, { rewritten, packages: [...known.packages, ...added] })
  })
})

/** True for a file of the packages that an agent's program has installed. */
export const isInstalled =
  ({ packages }: KnownPrograms) =>
  (path: string): boolean =>
    packages.some(({ folder }) => path.startsWith(`${folder}/node_modules/`))

/** A snapshot that is being made. */
export interface Surveyed {
  readonly options: GitOptionsShape
  readonly gitDir: string
  readonly workTree: string
  readonly writer: BlobWriter
  /** Gives the entry of the base, for each path that may differ from it. */
  readonly known: ReadonlyMap<string, { readonly base: TreeFile | undefined }>
}

const locks = ["package-lock.json", "bun.lock", "bun.lockb"]

const jsonOf = (bytes: Buffer | null): unknown => {
  try {
    return bytes === null ? {} : JSON.parse(bytes.toString("utf8"))
  } catch {
    return undefined
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** True when two contents of a package.json differ in nothing but the dependency on one package. */
const differInPackage = (name: string, base: Buffer | null, now: Buffer | null): boolean => {
  const [left, right] = [base, now].map((bytes) => {
    const value = jsonOf(bytes)
    if (!isRecord(value) || !isRecord(value["dependencies"])) return value
    const { [name]: _, ...dependencies } = value["dependencies"]
    const { dependencies: __, ...rest } = value
    return Object.keys(dependencies).length === 0 ? rest : { ...rest, dependencies }
  })
  const withoutEmpty = (value: unknown): unknown => {
    if (!isRecord(value) || !isDeepStrictEqual(value["dependencies"], {})) return value
    const { dependencies: _, ...rest } = value
    return rest
  }
  return left !== undefined && right !== undefined && isDeepStrictEqual(withoutEmpty(left), withoutEmpty(right))
}

const linesOf = (bytes: Buffer): ReadonlyArray<string> =>
  bytes
    .toString("latin1")
    .split("\n")
    .map((line) => line.trim().replace(/,$/, ""))

/** True when every line of the base is there still. */
const onlyAdds = (base: Buffer, now: Buffer): boolean => {
  const left = new Map<string, number>()
  for (const line of linesOf(now)) left.set(line, (left.get(line) ?? 0) + 1)
  return linesOf(base).every((line) => {
    const count = left.get(line) ?? 0
    left.set(line, count - 1)
    return count > 0
  })
}

/** The wanted files of a snapshot, with what the agent found in the place of what its program wrote and nobody has changed since. */
export const withoutOwnFiles = (own: KnownPrograms, surveyed: Surveyed, wanted: ReadonlyMap<string, TreeFile>) =>
  Effect.gen(function* () {
    if (own.packages.length === 0 && own.rewritten.size === 0) return wanted
    const { known, writer } = surveyed
    const left = new Map(wanted)
    for (const [path, { is, was }] of own.rewritten) {
      const entry = known.get(path)
      if (entry === undefined || !isSame(was, wanted.get(path))) continue
      const bytes = is && Buffer.from(is.base64, "base64")
      const found = is && bytes && { mode: is.mode, id: blobId(bytes) }
      if (found && bytes && !isSame(found, entry.base)) yield* writer.put(bytes)
      giveBack(left, path, found ?? undefined)
    }
    yield* Effect.forEach(own.packages, (each) => withoutPackage(each, surveyed, left), { discard: true })
    return left
  })

const giveBack = (files: Map<string, TreeFile>, path: string, file: TreeFile | undefined) =>
  file === undefined ? files.delete(path) : files.set(path, file)

/** Gives back what a folder held before the program installed its package there. */
const withoutPackage = (
  { folder, package: name }: OwnPackage,
  { gitDir, known, options, workTree }: Surveyed,
  files: Map<string, TreeFile>
) =>
  Effect.gen(function* () {
    const baseOf = (path: string) => known.get(path)?.base
    const differs = (path: string) => known.has(path) && !isSame(baseOf(path), files.get(path))
    /** The base and the present content of a path that differs; undefined where one of them is no small file. */
    const sides = (path: string) =>
      Effect.gen(function* () {
        const base = baseOf(path)
        const now = (yield* readFiles(options, workTree, [path])).get(path)?.bytes
        if (now === undefined) return undefined
        if (base === undefined) return { base: null, now }
        const read = git({ args: ["cat-file", "blob", base.id], gitDir, timeoutMs: options.localTimeoutMs })
        return base.mode.startsWith("100") ? { base: (yield* read).stdout, now } : undefined
      })
    const manifest = `${folder}/package.json`
    if (differs(manifest)) {
      const both = yield* sides(manifest)
      if (both === undefined || !differInPackage(name, both.base, both.now)) return
      giveBack(files, manifest, baseOf(manifest))
    }
    for (const lock of locks.map((each) => `${folder}/${each}`).filter(differs)) {
      const both = yield* sides(lock)
      if (both === undefined || (both.base !== null && !onlyAdds(both.base, both.now))) continue
      giveBack(files, lock, baseOf(lock))
    }
  })
