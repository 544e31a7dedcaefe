import { Effect } from "effect"
import { looseObjects, messageOf, pruneLoose, requireKeepName } from "../repository/Commit.js"
import { doubtStore } from "../repository/objects/ObjectStore.js"
import { requireTrusted } from "../repository/Repository.js"
import { type FileChange, fileChanges, noMode, quotedName, type RawChange } from "../repository/read/Changes.js"
import { gitlink } from "../repository/read/GitModules.js"
import { noObject } from "../repository/run/GitCommand.js"
import type { GitOptionsShape } from "../repository/run/GitOptions.js"
import { type Hidden, type Missing, readHidden } from "./files/HiddenFiles.js"
import { attributesOutside, isBelowFile, neverThere } from "./files/Outside.js"
import { isInstalled, type KnownPrograms, readOwnFiles, withoutOwnFiles } from "./files/OwnFiles.js"
import { makeStoring } from "./files/Storing.js"
import { type Baseline, readBaseline, withoutBaseline, writeBaseline } from "./index/Baseline.js"
import { makeBlobWriter, type TreeWriter } from "./index/BlobWriter.js"
import { capture, type PathFinding, refusedName, type TreeFile } from "./index/Capture.js"
import { type Capturing, requireWorkTree, type SnapshotRequest, withCapturing } from "./index/Capturing.js"
import { refusedNames } from "./index/RefusedNames.js"
import { keepIndex } from "./KeepIndex.js"
import { type Survey, sideOf, survey } from "./Survey.js"

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
  /** The SHA-256 of each content that it has stored. */
  readonly digests: TreeWriter["digests"]
  /** The index of the base, for those who ask more about the snapshot. */
  readonly index: Survey["index"]
  readonly additions: number
  readonly deletions: number
  readonly fileCount: number
  readonly diagnostics: ReadonlyArray<string>
  /** The paths that stay as they were because the agent's git hides them, though it may have another version of them. Names are latin1. */
  readonly hidden: ReadonlyArray<string>
}

type Entries = ReadonlyMap<string, TreeFile>

interface Plan {
  /** The files of the tree. At first those that the cached index vouches for, and submodules, which are not read. */
  readonly wanted: Map<string, TreeFile>
  readonly toRead: ReadonlyArray<string>
  readonly diagnostics: Array<string>
}

const byBytes = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0)

/** The paths of the base that have no file any more. The cached index vouches for a content that is kept for good. */
const missingOf = (found: Survey, loose: ReadonlySet<string>): ReadonlyMap<string, Missing> =>
  new Map(
    [...found.missing].flatMap((path) => {
      const { base, cached } = found.known.get(path) ?? {}
      if (base === undefined || base.mode === gitlink || found.gone.has(path)) return []
      return [[path, { base, cached: cached === undefined || loose.has(cached.id) ? undefined : cached }] as const]
    })
  )

const planFor = (
  options: GitOptionsShape,
  found: Survey,
  { hidden, loose }: { readonly hidden: Hidden; readonly loose: ReadonlySet<string> }
): Plan => {
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
    const kept = hidden.kept.get(path)
    if (link !== undefined) wanted.set(path, { mode: gitlink, id: link })
    else if (kept !== undefined) wanted.set(path, kept)
    if (kept !== undefined) continue
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

/** Takes what was read into the plan, and gives the paths that a sparse workspace never had. */
const settle = (
  { cone }: Capturing,
  plan: Plan,
  { found, hidden }: { readonly found: Survey; readonly hidden: Hidden },
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
  // A file that stands in the place of a folder has taken what was hidden below it away.
  for (const path of hidden.kept.keys()) if (isBelowFile(path, plan.wanted)) plan.wanted.delete(path)
  const skipped = neverThere(cone, captured, plan.wanted).filter(
    (path) => found.known.get(path)?.base !== undefined && !hidden.shown.has(path)
  )
  for (const path of skipped) {
    const base = found.known.get(path)?.base
    if (base !== undefined) plan.wanted.set(path, base)
  }
  return skipped
}

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

/** The new names that git refuses to hold. A name that an index has already had for a file of the same kind is a good one. */
const refusedIn = ({ folder, options, request }: Capturing, found: Survey, wanted: Entries) =>
  refusedNames(
    { options, gitDir: request.gitDir, folder },
    [...wanted].filter(([path, { mode }]) => {
      const { base, cached } = found.known.get(path) ?? {}
      return ![base, cached].some((entry) => entry !== undefined && kindOf(entry.mode) === kindOf(mode))
    })
  )

const writeTree = (capturing: Capturing) =>
  Effect.gen(function* () {
    const { base, gitDir, message = "Snapshot", keepAs, passing, whole, workTree } = capturing.request
    const own: KnownPrograms = whole === true ? { rewritten: new Map(), packages: [] } : yield* readOwnFiles(gitDir)
    const [surveyed, loose] = yield* Effect.all(
      [survey(capturing), passing === true ? noLoose : looseObjects(gitDir)],
      { concurrency: 2 }
    )
    const isOwn = isInstalled(own)
    const found: Survey = { ...surveyed, untracked: new Set([...surveyed.untracked].filter((path) => !isOwn(path))) }
    const hidden = yield* readHidden(capturing, missingOf(found, loose))
    const plan = planFor(capturing.options, found, { hidden, loose })
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
    const skipped = settle(capturing, plan, { found, hidden }, captured)
    const baseline: Baseline = whole === true ? new Map() : yield* readBaseline(gitDir)
    const baseOf = (path: string) => found.known.get(path)?.base
    const treeOf = (wanted: Entries) =>
      Effect.gen(function* () {
        const given = { options: capturing.options, gitDir, workTree, writer, known: found.known }
        const worked = yield* withoutOwnFiles(own, given, wanted)
        const changes = changesOf(found, withoutBaseline(baseline, worked, baseOf))
        const written = yield* writer.commit({
          base,
          changes,
          message: messageOf(message),
          ...(keepAs !== undefined && { keepAs })
        })
        const files = changes.length === 0 ? [] : yield* fileChanges(capturing.options, gitDir, base, written.tree)
        return { ...written, changes, files }
      })
    const refused = yield* refusedIn(capturing, found, plan.wanted)
    for (const path of refused) plan.wanted.delete(path)
    const [written] = yield* Effect.all(
      [treeOf(plan.wanted), keepIndex(capturing, found, { captured, wanted: plan.wanted, skipped })],
      { concurrency: 2 }
    )
    const diagnostics = [
      ...plan.diagnostics,
      ...refused.map((path) => `${quotedName(path)} has a name that git refuses`)
    ]
    if (keepAs !== undefined && loose.size > 0) yield* pruneLoose(options, gitDir)
    return {
      ...written,
      digests: writer.digests,
      index: found.index,
      diagnostics: diagnostics.sort(),
      hidden: hidden.doubtful.filter((path) => plan.wanted.has(path))
    }
  })

/** See `Git.snapshot`. */
export const snapshot = Effect.fnUntraced(function* (options: GitOptionsShape, request: SnapshotRequest) {
  yield* requireTrusted(request.gitDir, ...(request.base === null ? [] : [request.base]))
  if (request.keepAs !== undefined) yield* requireKeepName(request.keepAs)
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
