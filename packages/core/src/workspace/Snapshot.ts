import { randomBytes } from "node:crypto"
import * as fs from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { attempt, inDirectory } from "./Beneath.js"
import { makeBlobWriter } from "./BlobWriter.js"
import { type Captured, capture, pathBytes, refusedName, type TreeFile } from "./Capture.js"
import { type FileChange, fileChanges, parseChanges, shownName } from "./Changes.js"
import { git, records, runGit } from "./GitCommand.js"
import { GitError } from "./GitError.js"
import type { GitOptionsShape } from "./GitOptions.js"
import { editIndex } from "./IndexEdit.js"
import { cachedIndex, requireTrusted } from "./Repository.js"

// Owns the decision which files a snapshot holds. File content is read by `Capture`, never by git: git opens files by name,
// and a name can be led out of the workspace between two looks at it.

export interface SnapshotRequest {
  readonly gitDir: string
  readonly workTree: string
  /** The commit that the workspace started from; null when it started empty. */
  readonly base: string | null
}

export interface Snapshot {
  readonly tree: string
  readonly files: ReadonlyArray<FileChange>
  readonly additions: number
  readonly deletions: number
  readonly fileCount: number
  readonly diagnostics: ReadonlyArray<string>
}

interface Room {
  readonly options: GitOptionsShape
  readonly request: SnapshotRequest
  readonly folder: string
  /** The private copy of the cached index: the stat cache, and what the tree is written from. */
  readonly index: string
}

type Entries = ReadonlyMap<string, TreeFile>

interface Survey {
  readonly base: Entries
  readonly cached: Entries
  /** Paths of the cached index whose file may differ from it. */
  readonly dirty: ReadonlySet<string>
  readonly untracked: ReadonlyArray<string>
  readonly nested: ReadonlyArray<string>
  readonly warnings: ReadonlyArray<string>
}

const gitlink = "160000"

const plumbing = (room: Room, index: string, args: ReadonlyArray<string>) =>
  git({
    args,
    gitDir: room.request.gitDir,
    workTree: room.request.workTree,
    indexFile: index,
    timeoutMs: room.options.localTimeoutMs
  })

// `<mode> <id> <stage> TAB <path>`
const entryOf = (record: string): readonly [string, TreeFile] => {
  const tab = record.indexOf("\t")
  const [mode = "", id = ""] = record.slice(0, tab).split(" ")
  return [record.slice(tab + 1), { mode, id }]
}

const directoryWarnings = (stderr: string): ReadonlyArray<string> =>
  [...stderr.matchAll(/could not open directory '([^\n]*)':/g)].map(
    ([, path]) => `${JSON.stringify(path ?? "")} could not be opened`
  )

const exists = (path: string): Effect.Effect<boolean> =>
  Effect.promise(() =>
    fs.access(path).then(
      () => true,
      () => false
    )
  )

const moveIndex = (from: string, to: string) =>
  Effect.tryPromise({
    try: () => fs.rename(from, to),
    catch: () => new GitError({ kind: "internal", message: "The index could not be kept: check the data directory." })
  })

// An index of exactly the base, made once: what is untracked, and so what an ignore rule applies to, depends on it alone.
const baseIndex = (room: Room) =>
  Effect.gen(function* () {
    const { base, gitDir } = room.request
    const path = join(gitDir, `reins-base-${base ?? "none"}`)
    if (base !== null && !(yield* exists(path))) {
      const made = join(room.folder, "base")
      yield* plumbing(room, made, ["read-tree", base])
      yield* moveIndex(made, path)
    }
    return path
  })

const surveyBase = (room: Room) =>
  Effect.gen(function* () {
    const index = yield* baseIndex(room)
    const output = yield* plumbing(room, index, ["ls-files", "-z", "-t", "--stage", "--others", "--exclude-standard"])
    const listed = records(output.stdout)
    const others = listed.filter((record) => record.startsWith("? ")).map((record) => record.slice(2))
    return {
      base: new Map(listed.filter((record) => !record.startsWith("? ")).map((record) => entryOf(record.slice(2)))),
      untracked: others.filter((name) => !name.endsWith("/")),
      nested: others.filter((name) => name.endsWith("/")),
      warnings: directoryWarnings(output.stderr)
    }
  })

const survey = (room: Room): Effect.Effect<Survey, GitError> =>
  Effect.gen(function* () {
    const [found, dirty, cached] = yield* Effect.all(
      [
        surveyBase(room),
        plumbing(room, room.index, ["diff-files", "-z", "--raw", "--no-renames", "--ignore-submodules=all"]),
        plumbing(room, room.index, ["ls-files", "-z", "--stage"])
      ],
      { concurrency: 3 }
    )
    return {
      ...found,
      cached: new Map(records(cached.stdout).map(entryOf)),
      dirty: new Set(parseChanges(dirty.stdout).raw.map((change) => change.path))
    }
  })

const isUnchanged = (found: Survey, path: string): boolean => found.cached.has(path) && !found.dirty.has(path)

interface Plan {
  /** Taken over without a look at the file: the cached index vouches for them. */
  readonly known: Map<string, TreeFile>
  readonly toRead: ReadonlyArray<string>
  readonly diagnostics: Array<string>
}

const planFor = (options: GitOptionsShape, found: Survey): Plan => {
  const known = new Map<string, TreeFile>()
  const toRead: Array<string> = []
  const diagnostics = [
    ...found.warnings,
    ...found.nested.map(
      (path) => `${JSON.stringify(shownName(path))} is a nested git repository: its files are not part of the snapshot`
    )
  ]
  const consider = (path: string, base: TreeFile | undefined) => {
    const cached = isUnchanged(found, path) ? found.cached.get(path) : undefined
    if (base?.mode === gitlink) known.set(path, base)
    else if (cached !== undefined && cached.mode !== gitlink) known.set(path, cached)
    else {
      const refused = refusedName(path)
      if (refused === null) toRead.push(path)
      else {
        diagnostics.push(refused)
        if (base !== undefined) known.set(path, base)
      }
    }
  }
  for (const [path, entry] of found.base) consider(path, entry)
  for (const path of found.untracked) consider(path, undefined)
  const left = toRead.length - options.maxChangedFiles
  if (left > 0) {
    diagnostics.push(`${left} changed files were left out: one snapshot reads at most ${options.maxChangedFiles}`)
    for (const path of toRead.splice(options.maxChangedFiles)) {
      const base = found.base.get(path)
      if (base !== undefined) known.set(path, base)
    }
  }
  return { known, toRead, diagnostics }
}

const linkedOf = (captured: ReadonlyMap<string, Captured>): Entries =>
  new Map(
    [...captured].flatMap(([path, result]) => (result.state === "file" && result.isLinked ? [[path, result.file]] : []))
  )

const settle = (plan: Plan, found: Survey, captured: ReadonlyMap<string, Captured>): Entries => {
  const wanted = new Map(plan.known)
  for (const [path, result] of captured) {
    const base = found.base.get(path)
    if (result.state === "file") wanted.set(path, result.file)
    else {
      if (result.note !== undefined) plan.diagnostics.push(result.note)
      if (result.state === "kept" && base !== undefined) wanted.set(path, base)
    }
  }
  return wanted
}

// A submodule's folder is empty unless somebody put files there; those are in no snapshot, which must be said.
const submoduleNotes = (room: Room, found: Survey) =>
  Effect.forEach(
    [...found.base].filter(([, entry]) => entry.mode === gitlink).slice(0, 1_000),
    ([path]) =>
      inDirectory(room.request.workTree, pathBytes(path), { create: false }, (directory) =>
        attempt(path, () => fs.readdir(directory.entry(".")))
      ).pipe(
        Effect.map((names) => names.length === 0),
        Effect.catchTag("BeneathError", (error) => Effect.succeed(error.reason === "missing")),
        Effect.map((empty) =>
          empty ? [] : [`${JSON.stringify(shownName(path))} is a submodule: what is in it is not part of the snapshot`]
        )
      ),
    { concurrency: 8 }
  ).pipe(Effect.map((notes) => notes.flat()))

// Takes the file times of what was read into the index, so that the next snapshot need not read it again.
const refresh = (room: Room) =>
  // Exit code 1 only says that some file has changed since; that file is read again next time.
  runGit({
    args: ["update-index", "-q", "--ignore-submodules", "--refresh"],
    gitDir: room.request.gitDir,
    workTree: room.request.workTree,
    indexFile: room.index,
    timeoutMs: room.options.localTimeoutMs
  })

const writeTree = (room: Room) =>
  Effect.gen(function* () {
    const found = yield* survey(room)
    const plan = planFor(room.options, found)
    const known = new Set([...found.base.values(), ...found.cached.values()].map((entry) => entry.id))
    const writer = yield* makeBlobWriter(room.options, room.request.gitDir, known)
    const captured = yield* capture(room.options, room.request.workTree, writer, plan.toRead)
    yield* writer.flush
    const wanted = settle(plan, found, captured)
    const refused = yield* editIndex(room.options, room.request.gitDir, room.index, found.cached, wanted)
    const written = yield* plumbing(room, room.index, ["write-tree"])
    if (plan.toRead.length > 0) yield* refresh(room)
    // git's file times are seconds, in which a name can leave the workspace unseen: these are read again each time.
    yield* editIndex(room.options, room.request.gitDir, room.index, linkedOf(captured), new Map())
    yield* moveIndex(room.index, cachedIndex(room.request.gitDir))
    const submodules = yield* submoduleNotes(room, found)
    const diagnostics = [
      ...plan.diagnostics,
      ...refused.map((path) => `${JSON.stringify(shownName(path))} has a name that git refuses`),
      ...submodules
    ]
    return { tree: written.stdout.toString("utf8").trim(), diagnostics: diagnostics.sort() }
  })

// A hard link suffices as a copy: git replaces an index file and never writes into it. The file times stay with it.
const seed = (request: SnapshotRequest, index: string): Promise<void> =>
  fs.link(cachedIndex(request.gitDir), index).catch((cause: unknown) => {
    if (!(cause instanceof Error && "code" in cause && cause.code === "ENOENT")) throw cause
  })

const inRoom = <A>(
  options: GitOptionsShape,
  request: SnapshotRequest,
  cached: boolean,
  use: (room: Room) => Effect.Effect<A, GitError>
): Effect.Effect<A, GitError> =>
  Effect.acquireUseRelease(
    Effect.tryPromise({
      try: async () => {
        const folder = join(request.gitDir, "reins-tmp", randomBytes(9).toString("hex"))
        await fs.mkdir(folder, { recursive: true, mode: 0o700 })
        const room = { options, request, folder, index: join(folder, "index") }
        if (cached) await seed(request, room.index)
        return room
      },
      catch: () =>
        new GitError({ kind: "internal", message: "The git directory could not be written: check the data directory." })
    }),
    use,
    (room) => Effect.promise(() => fs.rm(room.folder, { recursive: true, force: true }))
  )

const requireWorkTree = (workTree: string): Effect.Effect<void, GitError> =>
  Effect.tryPromise({
    try: async () => {
      if (!(await fs.stat(workTree)).isDirectory()) throw new Error("not a directory")
    },
    catch: () =>
      new GitError({ kind: "not_found", message: "The workspace folder is not there: restore the workspace first." })
  })

/** See `Git.snapshot`. */
export const snapshot = Effect.fnUntraced(function* (options: GitOptionsShape, request: SnapshotRequest) {
  yield* requireTrusted(request.gitDir, ...(request.base === null ? [] : [request.base]))
  yield* requireWorkTree(request.workTree)
  const attemptWith = (cached: boolean) => inRoom(options, request, cached, writeTree)
  // A cached index that is damaged, or names objects that were pruned, is no reason to fail: without it, all is read anew.
  const { diagnostics, tree } = yield* attemptWith(true).pipe(
    Effect.catchIf(
      (error) => error.kind === "internal",
      () => attemptWith(false)
    )
  )
  const files = yield* fileChanges(options, request.gitDir, request.base, tree)
  const result: Snapshot = {
    tree,
    files,
    additions: files.reduce((sum, file) => sum + file.additions, 0),
    deletions: files.reduce((sum, file) => sum + file.deletions, 0),
    fileCount: files.length,
    diagnostics
  }
  return result
})
