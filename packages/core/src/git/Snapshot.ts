import { Effect } from "effect"
import { type Baseline, readBaseline, withoutBaseline, writeBaseline } from "./Baseline.js"
import { makeBlobWriter } from "./BlobWriter.js"
import { capture, type PathFinding, refusedName, type TreeFile } from "./Capture.js"
import { type Capturing, requireWorkTree, type SnapshotRequest, withCapturing } from "./Capturing.js"
import { type FileChange, fileChanges, noMode, quotedName, type RawChange } from "./Changes.js"
import { looseObjects, messageOf } from "./Commit.js"
import { readCone } from "./Cone.js"
import { noObject, runGit } from "./GitCommand.js"
import { gitlink } from "./GitModules.js"
import type { GitOptionsShape } from "./GitOptions.js"
import { editIndex } from "./IndexEdit.js"
import { doubtStore } from "./ObjectStore.js"
import { attributesOutside, neverThere, skipPaths } from "./Outside.js"
import { isInstalled, type KnownPrograms, readOwnFiles, withoutOwnFiles } from "./OwnFiles.js"
import { cachedIndex, requireTrusted } from "./Repository.js"
import { makeStoring } from "./Storing.js"
import { exists, moveIndex, type Survey, sideOf, survey } from "./Survey.js"

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
    ...found.submodules.notes,
    ...found.nested.map(
      (path) => `${quotedName(path)} is a nested git repository: its files are not part of the snapshot`
    )
  ]
  for (const [path, { base, cached }] of found.known) {
    const link = found.submodules.links.get(path)
    if (link !== undefined) wanted.set(path, { mode: gitlink, id: link })
    // A path that only the cached index has is ignored by now, or gone.
    if (link !== undefined || found.gone.has(path) || (base === undefined && !found.untracked.has(path))) continue
    const isCached = cached !== undefined && cached.mode !== gitlink && !found.dirty.has(path) && !loose.has(cached.id)
    const refused = isCached ? null : refusedName(path)
    if (isCached) wanted.set(path, cached)
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

const linkedOf = (captured: ReadonlyMap<string, PathFinding>): Entries =>
  new Map(
    [...captured].flatMap(([path, result]) => (result.state === "file" && result.isLinked ? [[path, result.file]] : []))
  )

/** Takes what was read into the plan, and gives the paths that a sparse workspace never had. */
const settle = (
  { cone }: Capturing,
  plan: Plan,
  found: Survey,
  captured: ReadonlyMap<string, PathFinding>
): ReadonlyArray<string> => {
  for (const [path, result] of captured) {
    const base = found.known.get(path)?.base
    if (result.state === "file") plan.wanted.set(path, result.file)
    else {
      if (result.note !== undefined) plan.diagnostics.push(result.note)
      if (result.state === "kept" && base !== undefined) plan.wanted.set(path, base)
    }
  }
  const skipped = neverThere(cone, captured, plan.wanted).filter((path) => found.known.get(path)?.base !== undefined)
  for (const path of skipped) {
    const base = found.known.get(path)?.base
    if (base !== undefined) plan.wanted.set(path, base)
  }
  return skipped
}

// Writes the times of the files that were read into the index, so that the next snapshot need not read them again.
const refresh = (capturing: Capturing) =>
  // Exit code 1 only says that some file has changed since. The next snapshot reads that file again.
  runGit({
    args: ["update-index", "-q", "--ignore-submodules", "--refresh"],
    gitDir: capturing.request.gitDir,
    workTree: capturing.request.workTree,
    indexFile: capturing.index,
    settings: capturing.cone.settings,
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
const keepIndex = (
  capturing: Capturing,
  found: Survey,
  plan: Plan,
  {
    captured,
    skipped
  }: { readonly captured: ReadonlyMap<string, PathFinding>; readonly skipped: ReadonlyArray<string> }
) =>
  Effect.gen(function* () {
    const { gitDir, workTree } = capturing.request
    const cached = new Map(
      [...found.known].flatMap(([path, { cached }]) => (cached === undefined ? [] : [[path, cached] as const]))
    )
    const { edited, refused } = yield* editIndex(capturing.options, gitDir, capturing.index, cached, plan.wanted)
    yield* skipPaths(capturing.options, { gitDir, workTree, index: capturing.index }, skipped)
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
    const { base, gitDir, message = "Snapshot", passing, whole, workTree } = capturing.request
    const own: KnownPrograms = whole === true ? { rewritten: new Map(), packages: [] } : yield* readOwnFiles(gitDir)
    const [surveyed, loose] = yield* Effect.all(
      [survey(capturing), passing === true ? noLoose : looseObjects(gitDir)],
      { concurrency: 2 }
    )
    const isOwn = isInstalled(own)
    const found: Survey = { ...surveyed, untracked: new Set([...surveyed.untracked].filter((path) => !isOwn(path))) }
    const plan = planFor(capturing.options, found, loose)
    const stored = [...found.known.values()].flatMap((entry) => [entry.base?.id ?? "", entry.cached?.id ?? ""])
    const writer = yield* makeBlobWriter(capturing.options, gitDir, {
      known: new Set(stored.filter((id) => !loose.has(id))),
      isDurable: passing !== true
    })
    const { cone, folder, options } = capturing
    const indexed = (path: string) => found.known.get(path)?.base
    const missing = attributesOutside(options, cone, { gitDir, base })
    const storing = yield* makeStoring(options, { gitDir, workTree, folder, indexed, missing }, writer, plan.toRead)
    const captured = yield* storing.settle(yield* capture(options, workTree, storing, plan.toRead))
    const skipped = settle(capturing, plan, found, captured)
    const baseline: Baseline = whole === true ? new Map() : yield* readBaseline(gitDir)
    const baseOf = (path: string) => found.known.get(path)?.base
    const treeOf = (wanted: Entries) =>
      Effect.gen(function* () {
        const given = { options: capturing.options, gitDir, workTree, writer, known: found.known }
        const worked = yield* withoutOwnFiles(own, given, wanted)
        const changes = changesOf(found, withoutBaseline(baseline, worked, baseOf))
        const written = yield* writer.commit({ base, changes, message: messageOf(message) })
        const files = changes.length === 0 ? [] : yield* fileChanges(capturing.options, gitDir, base, written.tree)
        return { ...written, changes, files }
      })
    const [first, refused] = yield* Effect.all(
      [treeOf(plan.wanted), keepIndex(capturing, found, plan, { captured, skipped })],
      {
        concurrency: 2
      }
    )
    for (const path of refused) plan.wanted.delete(path)
    const written = refused.length === 0 ? first : yield* treeOf(plan.wanted)
    const diagnostics = [
      ...plan.diagnostics,
      ...refused.map((path) => `${quotedName(path)} has a name that git refuses`)
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
    ),
    Effect.tapError(({ kind }) =>
      kind === "internal" || kind === "not_found" ? doubtStore(request.gitDir) : Effect.void
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
    Effect.flatMap(readCone(gitDir), (cone) =>
      Effect.asVoid(
        refresh({
          options,
          request: { gitDir, workTree, base: null },
          folder: gitDir,
          index: cachedIndex(gitDir),
          cone
        })
      )
    )
  )
