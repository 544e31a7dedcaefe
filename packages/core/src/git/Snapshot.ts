import * as fs from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { attempt, inDirectory } from "../files/Beneath.js"
import { type Baseline, readBaseline, withoutBaseline, writeBaseline } from "./Baseline.js"
import { makeBlobWriter } from "./BlobWriter.js"
import { type Captured, capture, pathBytes, refusedName, type TreeFile } from "./Capture.js"
import { type Capturing, requireWorkTree, type SnapshotRequest, withCapturing } from "./Capturing.js"
import { type FileChange, fileChanges, parseChanges, type RawChange, shownName } from "./Changes.js"
import { looseObjects, messageOf } from "./Commit.js"
import { emptyTree, git, noObject, records, runGit } from "./GitCommand.js"
import { GitError } from "./GitError.js"
import type { GitOptionsShape } from "./GitOptions.js"
import { editIndex } from "./IndexEdit.js"
import { cachedIndex, requireTrusted } from "./Repository.js"

// Decides which files a snapshot holds. `Capture` reads their content, never git, because git opens files by name and a hostile process can
// lead a name out of the workspace between two looks at it.

/** The content of a workspace at one moment, and its differences from the base. */
export interface Snapshot {
  readonly tree: string
  /** A commit of the tree on top of the base. It is the one that `commitTree` makes with the same message and the time 0. */
  readonly commit: string
  /** Each changed path by itself, in byte order. */
  readonly changes: ReadonlyArray<RawChange>
  readonly files: ReadonlyArray<FileChange>
  readonly additions: number
  readonly deletions: number
  readonly fileCount: number
  readonly diagnostics: ReadonlyArray<string>
}

type Entries = ReadonlyMap<string, TreeFile>

/** The entries of a path in the base and in the cached index, before its file is looked at. */
interface Known {
  readonly base: TreeFile | undefined
  readonly cached: TreeFile | undefined
}

interface Survey {
  /** Every path that may differ from the base or from the cached index. All other paths are the same in both. */
  readonly known: ReadonlyMap<string, Known>
  /** Paths of the cached index whose file may differ from it. */
  readonly dirty: ReadonlySet<string>
  readonly untracked: ReadonlySet<string>
  readonly nested: ReadonlyArray<string>
  /** The submodules of the base. */
  readonly submodules: ReadonlyArray<string>
  readonly warnings: ReadonlyArray<string>
}

const gitlink = "160000"
const noMode = "000000"

const plumbing = (capturing: Capturing, index: string, args: ReadonlyArray<string>) =>
  git({
    args,
    gitDir: capturing.request.gitDir,
    workTree: capturing.request.workTree,
    indexFile: index,
    timeoutMs: capturing.options.localTimeoutMs
  })

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

const inGitDir = <A>(run: () => Promise<A>) =>
  Effect.tryPromise({
    try: run,
    catch: () => new GitError({ kind: "internal", message: "The index could not be kept: check the data directory." })
  })

const moveIndex = (from: string, to: string) => inGitDir(() => fs.rename(from, to))

// `<mode> <id> <stage> TAB <path>`
const gitlinkIn = (record: string): ReadonlyArray<string> =>
  record.startsWith(gitlink) ? [record.slice(record.indexOf("\t") + 1)] : []

// Makes an index of exactly the base, and a list of its submodules, once for each base. Only a path that the base lacks is untracked, and only
// untracked paths are subject to ignore rules.
const baseIndex = (capturing: Capturing) =>
  Effect.gen(function* () {
    const { base, gitDir } = capturing.request
    const path = join(gitDir, `reins-base-${base ?? "none"}`)
    if (base === null) return { path, submodules: [] }
    const names = `${path}-submodules`
    if (!(yield* exists(path)) || !(yield* exists(names))) {
      const made = join(capturing.folder, "base")
      yield* plumbing(capturing, made, ["read-tree", base])
      const listed = yield* plumbing(capturing, made, ["ls-files", "-z", "--stage"])
      const links = records(listed.stdout).flatMap(gitlinkIn)
      yield* inGitDir(() => fs.writeFile(`${made}-submodules`, links.join("\0"), "latin1"))
      yield* moveIndex(`${made}-submodules`, names)
      yield* moveIndex(made, path)
    }
    const submodules = yield* inGitDir(() => fs.readFile(names, "latin1"))
    return { path, submodules: submodules === "" ? [] : submodules.split("\0") }
  })

const surveyBase = (capturing: Capturing) =>
  Effect.gen(function* () {
    const { path, submodules } = yield* baseIndex(capturing)
    const output = yield* plumbing(capturing, path, ["ls-files", "-z", "--others", "--exclude-standard"])
    const others = records(output.stdout)
    return {
      untracked: new Set(others.filter((name) => !name.endsWith("/"))),
      nested: others.filter((name) => name.endsWith("/")),
      submodules,
      warnings: directoryWarnings(output.stderr)
    }
  })

const rawFlags = ["-z", "--raw", "--no-abbrev", "--no-renames", "--ignore-submodules=all"]

const sideOf = (mode: string, id: string): TreeFile | undefined => (mode === noMode ? undefined : { mode, id })

// Lists differences only, because a workspace has many more files than changes.
const survey = (capturing: Capturing): Effect.Effect<Survey, GitError> =>
  Effect.gen(function* () {
    const [found, dirty, differing] = yield* Effect.all(
      [
        surveyBase(capturing),
        plumbing(capturing, capturing.index, ["diff-files", ...rawFlags]),
        plumbing(capturing, capturing.index, [
          "diff-index",
          "--cached",
          ...rawFlags,
          capturing.request.base ?? emptyTree
        ])
      ],
      { concurrency: 3 }
    )
    const dirtyFiles = parseChanges(dirty.stdout).raw
    const known = new Map<string, Known>()
    for (const path of found.untracked) known.set(path, { base: undefined, cached: undefined })
    // A path without a difference between index and base has the same entry in both.
    for (const { oldId, oldMode, path } of dirtyFiles) {
      const entry = sideOf(oldMode, oldId)
      known.set(path, { base: entry, cached: entry })
    }
    for (const { newId, newMode, oldId, oldMode, path } of parseChanges(differing.stdout).raw)
      known.set(path, { base: sideOf(oldMode, oldId), cached: sideOf(newMode, newId) })
    return { ...found, known, dirty: new Set(dirtyFiles.map((change) => change.path)) }
  })

interface Plan {
  /** The files of the tree. At first those that the cached index vouches for, and submodules, which are not read. */
  readonly wanted: Map<string, TreeFile>
  readonly toRead: ReadonlyArray<string>
  readonly diagnostics: Array<string>
}

const byBytes = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0)

const planFor = (options: GitOptionsShape, found: Survey, loose: ReadonlySet<string>): Plan => {
  const wanted = new Map<string, TreeFile>()
  const ofBase: Array<string> = []
  const added: Array<string> = []
  const diagnostics = [
    ...found.warnings,
    ...found.nested.map(
      (path) => `${JSON.stringify(shownName(path))} is a nested git repository: its files are not part of the snapshot`
    )
  ]
  for (const [path, { base, cached }] of found.known) {
    // A path that only the cached index has is ignored by now, or gone.
    if (base === undefined && !found.untracked.has(path)) continue
    const isCached = cached !== undefined && cached.mode !== gitlink && !found.dirty.has(path) && !loose.has(cached.id)
    const refused = base?.mode === gitlink || isCached ? null : refusedName(path)
    if (base?.mode === gitlink) wanted.set(path, base)
    else if (isCached) wanted.set(path, cached)
    else if (refused === null) (base === undefined ? added : ofBase).push(path)
    else {
      diagnostics.push(refused)
      if (base !== undefined) wanted.set(path, base)
    }
  }
  const toRead = [...ofBase.sort(byBytes), ...added.sort(byBytes)]
  const left = toRead.length - options.maxChangedFiles
  if (left > 0) {
    diagnostics.push(`${left} changed files were left out: one snapshot reads at most ${options.maxChangedFiles}`)
    for (const path of toRead.splice(options.maxChangedFiles)) {
      const base = found.known.get(path)?.base
      if (base !== undefined) wanted.set(path, base)
    }
  }
  return { wanted, toRead, diagnostics }
}

const linkedOf = (captured: ReadonlyMap<string, Captured>): Entries =>
  new Map(
    [...captured].flatMap(([path, result]) => (result.state === "file" && result.isLinked ? [[path, result.file]] : []))
  )

const settle = (plan: Plan, found: Survey, captured: ReadonlyMap<string, Captured>): void => {
  for (const [path, result] of captured) {
    const base = found.known.get(path)?.base
    if (result.state === "file") plan.wanted.set(path, result.file)
    else {
      if (result.note !== undefined) plan.diagnostics.push(result.note)
      if (result.state === "kept" && base !== undefined) plan.wanted.set(path, base)
    }
  }
}

// A submodule's folder is empty unless somebody put files there. No snapshot holds these, so the diagnostics say so.
const submoduleNotes = (capturing: Capturing, found: Survey) =>
  Effect.forEach(
    found.submodules.slice(0, 1_000),
    (path) =>
      inDirectory(capturing.request.workTree, pathBytes(path), { create: false }, (directory) =>
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

// Writes the times of the files that were read into the index, so that the next snapshot need not read them again.
const refresh = (capturing: Capturing) =>
  // Exit code 1 only says that some file has changed since. The next snapshot reads that file again.
  runGit({
    args: ["update-index", "-q", "--ignore-submodules", "--refresh"],
    gitDir: capturing.request.gitDir,
    workTree: capturing.request.workTree,
    indexFile: capturing.index,
    timeoutMs: capturing.options.localTimeoutMs
  })

const noLoose: Effect.Effect<ReadonlySet<string>> = Effect.succeed(new Set())

/** The differences between the wanted files and the base, in byte order of the path. */
const changesOf = (found: Survey, wanted: Entries): ReadonlyArray<RawChange> =>
  [...found.known]
    .flatMap(([path, { base }]) => {
      const file = wanted.get(path)
      if (file?.id === base?.id && file?.mode === base?.mode) return []
      const [oldMode, oldId, newMode, newId] = [
        base?.mode ?? noMode,
        base?.id ?? noObject,
        file?.mode ?? noMode,
        file?.id ?? noObject
      ]
      const letter =
        base === undefined ? "A" : file === undefined ? "D" : kindOf(oldMode) === kindOf(newMode) ? "M" : "T"
      return [{ oldMode, oldId, newMode, newId, letter, path, oldPath: null }]
    })
    .sort((left, right) => byBytes(left.path, right.path))

/** The bits of a mode that tell a file from a link and a submodule. */
const kindOf = (mode: string): string => mode.slice(0, 2)

// Keeps the index for the next snapshot. The tree does not depend on it. Gives the paths that git refuses to hold.
const keepIndex = (capturing: Capturing, found: Survey, plan: Plan, captured: ReadonlyMap<string, Captured>) =>
  Effect.gen(function* () {
    const { gitDir } = capturing.request
    const cached = new Map(
      [...found.known].flatMap(([path, { cached }]) => (cached === undefined ? [] : [[path, cached] as const]))
    )
    const { edited, refused } = yield* editIndex(capturing.options, gitDir, capturing.index, cached, plan.wanted)
    if (plan.toRead.length > 0) yield* refresh(capturing)
    // Linked files are read again each time: git's file times are seconds, in which a name can leave the workspace unseen.
    yield* editIndex(capturing.options, gitDir, capturing.index, linkedOf(captured), new Map())
    // The index has no file yet when nothing was ever put into it.
    const isChanged = edited || plan.toRead.length > 0
    if (isChanged && (yield* exists(capturing.index))) yield* moveIndex(capturing.index, cachedIndex(gitDir))
    return refused
  })

const writeTree = (capturing: Capturing) =>
  Effect.gen(function* () {
    const { base, gitDir, message = "Snapshot", passing } = capturing.request
    const [found, loose] = yield* Effect.all([survey(capturing), passing === true ? noLoose : looseObjects(gitDir)], {
      concurrency: 2
    })
    const plan = planFor(capturing.options, found, loose)
    const stored = [...found.known.values()].flatMap((entry) => [entry.base?.id ?? "", entry.cached?.id ?? ""])
    const writer = yield* makeBlobWriter(capturing.options, gitDir, {
      known: new Set(stored.filter((id) => !loose.has(id))),
      isDurable: passing !== true
    })
    const captured = yield* capture(capturing.options, capturing.request.workTree, writer, plan.toRead)
    settle(plan, found, captured)
    const baseline: Baseline = capturing.request.whole === true ? new Map() : yield* readBaseline(gitDir)
    const baseOf = (path: string) => found.known.get(path)?.base
    const treeOf = (wanted: Entries) =>
      Effect.gen(function* () {
        const changes = changesOf(found, withoutBaseline(baseline, wanted, baseOf))
        const written = yield* writer.commit({ base, changes, message: messageOf(message) })
        const files = changes.length === 0 ? [] : yield* fileChanges(capturing.options, gitDir, base, written.tree)
        return { ...written, changes, files }
      })
    const [first, refused, submodules] = yield* Effect.all(
      [treeOf(plan.wanted), keepIndex(capturing, found, plan, captured), submoduleNotes(capturing, found)],
      { concurrency: 3 }
    )
    for (const path of refused) plan.wanted.delete(path)
    const written = refused.length === 0 ? first : yield* treeOf(plan.wanted)
    const diagnostics = [
      ...plan.diagnostics,
      ...refused.map((path) => `${JSON.stringify(shownName(path))} has a name that git refuses`),
      ...submodules
    ]
    return { ...written, diagnostics: diagnostics.sort() }
  })

/** See `Git.snapshot`. */
export const snapshot = Effect.fnUntraced(function* (options: GitOptionsShape, request: SnapshotRequest) {
  yield* requireTrusted(request.gitDir, ...(request.base === null ? [] : [request.base]))
  yield* requireWorkTree(request.workTree)
  const attemptWith = (cached: boolean) => withCapturing(options, request, cached, writeTree)
  // A cached index that is damaged, or names pruned objects, is no reason to fail. Without it every file is read anew.
  const found = yield* attemptWith(true).pipe(
    Effect.catchIf(
      (error) => error.kind === "internal",
      () => attemptWith(false)
    )
  )
  const result: Snapshot = {
    ...found,
    additions: found.files.reduce((sum, file) => sum + file.additions, 0),
    deletions: found.files.reduce((sum, file) => sum + file.deletions, 0),
    fileCount: found.files.length
  }
  return result
})

/** See `Git.adopt`. */
export const adopt = Effect.fnUntraced(function* (options: GitOptionsShape, request: SnapshotRequest) {
  const { changes } = yield* snapshot(options, { ...request, passing: true, whole: true })
  yield* writeBaseline(
    request.gitDir,
    new Map(changes.map(({ newId, newMode, path }) => [path, sideOf(newMode, newId) ?? null]))
  )
})

/** See `Git.refresh`. */
export const refreshed = (options: GitOptionsShape, { gitDir, workTree }: Omit<SnapshotRequest, "base">) =>
  Effect.zipRight(
    requireTrusted(gitDir),
    Effect.asVoid(
      refresh({ options, request: { gitDir, workTree, base: null }, folder: gitDir, index: cachedIndex(gitDir) })
    )
  )
