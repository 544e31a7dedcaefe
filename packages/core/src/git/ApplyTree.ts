import * as fs from "node:fs/promises"
import { join } from "node:path"
import { DateTime, Effect } from "effect"
import { failpoint } from "../base/Failpoint.js"
import { attempt, type BeneathError, inDirectory, removeFile, replaceFile, replaceLink } from "../files/Beneath.js"
import { type BlobWriter, blobId } from "./BlobWriter.js"
import { capture, latinNames, refusedName } from "./Capture.js"
import { withCapturing } from "./Capturing.js"
import { type RawChange, rawChanges, shownName } from "./Changes.js"
import { commitTree } from "./Commit.js"
import { readCone, writeRemoved } from "./Cone.js"
import { emptyTree, git, isObjectId, records, runGit } from "./GitCommand.js"
import { classify, GitError, notUnderstood, readOutput } from "./GitError.js"
import { gitlink } from "./GitModules.js"
import type { GitOptionsShape } from "./GitOptions.js"
import { readLinks, writeLinks } from "./Links.js"
import { attributesOutside, foldersAbove } from "./Outside.js"
import { requireTrusted } from "./Repository.js"
import { snapshot } from "./Snapshot.js"
import { makeStoring } from "./Storing.js"
import { type SubmodulePlace, submodulePlace } from "./Submodules.js"

/** One change, and the workspace that it is brought into. */
export interface ApplyRequest<E = never> {
  /** The change, in the trusted directory of the session that made it. */
  readonly source: { readonly gitDir: string; readonly base: string | null; readonly tree: string }
  /** The workspace to change, and the commit that it started from. */
  readonly target: { readonly gitDir: string; readonly workTree: string; readonly base: string | null }
  readonly strategy: "three_way" | "exact"
  readonly dryRun: boolean
  /** Runs with the paths that are about to be written, before the first of them is. */
  readonly planned?: (paths: ReadonlyArray<string>) => Effect.Effect<void, E>
}

/** `conflicted` exactly when `conflicts` names a path. Both lists are sorted. */
export interface ApplyResult {
  readonly state: "applied" | "conflicted"
  readonly conflicts: ReadonlyArray<string>
  readonly changed: ReadonlyArray<string>
}

const noMode = "000000"
const beginning = DateTime.unsafeMake(0)

interface Merge {
  readonly tree: string
  readonly conflicts: ReadonlyArray<string>
}

const conflicted = (paths: ReadonlyArray<string>): ApplyResult => ({
  state: "conflicted",
  conflicts: [...new Set(paths.map(shownName))].sort(),
  changed: []
})

// The objects of the source are read in place, and the merge writes its own into the target.
const alternates = (request: ApplyRequest<unknown>): Record<string, string> => ({
  GIT_ALTERNATE_OBJECT_DIRECTORIES: JSON.stringify(join(request.source.gitDir, "objects"))
})

const mergeTrees = (
  options: GitOptionsShape,
  request: ApplyRequest<unknown>,
  ours: string,
  base: string
): Effect.Effect<Merge, GitError> =>
  Effect.gen(function* () {
    const env = alternates(request)
    const commit = (tree: string, parents: ReadonlyArray<string>) =>
      commitTree(options, {
        gitDir: request.target.gitDir,
        tree,
        parents,
        message: "merge input",
        date: beginning,
        env
      })
    const root = yield* commit(base, [])
    const left = yield* commit(ours, [root])
    const right = yield* commit(request.source.tree, [root])
    const output = yield* runGit({
      args: ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", left, right],
      gitDir: request.target.gitDir,
      env,
      timeoutMs: options.localTimeoutMs
    })
    const [tree = "", ...conflicts] = records(output.stdout)
    if (output.exitCode > 1) return yield* classify("merge-tree", output.stderr)
    const paths = conflicts.filter((path) => path !== "")
    // A merge that is not clean names its paths.
    if (!isObjectId(tree) || (output.exitCode === 1) !== paths.length > 0) return yield* notUnderstood("merge-tree")
    return { tree, conflicts: paths }
  })

const treeOf = (options: GitOptionsShape, request: ApplyRequest<unknown>): Effect.Effect<string, GitError> =>
  request.source.base === null
    ? Effect.succeed(emptyTree)
    : git({
        args: ["rev-parse", "--verify", "--end-of-options", `${request.source.base}^{tree}`],
        gitDir: request.source.gitDir,
        timeoutMs: options.localTimeoutMs
      }).pipe(
        Effect.map((output) => output.stdout.toString("utf8").trim()),
        Effect.filterOrFail(isObjectId, () => notUnderstood("rev-parse"))
      )

// The paths of the change at which the target differs both from the base and from the change. An earlier application of the same change may
// have written some paths already, and these are no conflict.
const inexact = (options: GitOptionsShape, request: ApplyRequest<unknown>, ours: string, base: string) =>
  Effect.gen(function* () {
    const env = alternates(request)
    const { gitDir } = request.target
    const wanted = yield* rawChanges(options, gitDir, base, request.source.tree, env)
    const own = new Map((yield* rawChanges(options, gitDir, base, ours, env)).map((change) => [change.path, change]))
    return wanted
      .filter((change) => {
        const had = own.get(change.path)
        return had !== undefined && (had.newId !== change.newId || had.newMode !== change.newMode)
      })
      .map((change) => change.path)
  })

const comparing: BlobWriter = { put: (bytes) => Effect.succeed(blobId(bytes)) }

// A path whose file is not the one that was merged is a conflict: an ignored file is in the way, or a process has written meanwhile.
const inTheWay = (options: GitOptionsShape, request: ApplyRequest<unknown>, changes: ReadonlyArray<RawChange>) =>
  withCapturing(options, request.target, false, ({ cone, folder }) =>
    Effect.gen(function* () {
      const { gitDir, workTree } = request.target
      const missing = attributesOutside(options, cone, request.target)
      const paths = changes.map((change) => change.path)
      const old = new Map(changes.map(({ oldId, oldMode, path }) => [path, { mode: oldMode, id: oldId }]))
      const indexed = (path: string) => old.get(path)
      const storing = yield* makeStoring(options, { gitDir, workTree, folder, indexed, missing }, comparing, paths)
      const found = yield* storing.settle(yield* capture(options, workTree, storing, paths))
      return paths.filter((path) => {
        const now = found.get(path)
        const { id, mode } = old.get(path) ?? { id: "", mode: noMode }
        if (refusedName(path) !== null) return true
        if (now?.state === "absent" && now.note === undefined)
          return mode !== noMode && mode !== gitlink && !(now.isMissing === true && cone.isOutside(path))
        return now?.state !== "file" || now.file.id !== id || now.file.mode !== mode
      })
    })
  )

/** The paths at which a submodule cannot change, because its folder holds files. */
const filledSubmodules = (request: ApplyRequest<unknown>, changes: ReadonlyArray<RawChange>) =>
  Effect.filter(
    changes.filter(({ newMode, oldMode }) => oldMode === gitlink || (newMode === gitlink && oldMode === noMode)),
    ({ path }) => Effect.map(submodulePlace(request.target.workTree, path), (place) => !isVacant(place))
  ).pipe(Effect.map((filled) => filled.map(({ path }) => path)))

/** True where a submodule can come or go: it has no files in the workspace. */
const isVacant = ({ kind }: SubmodulePlace): boolean => kind === "elsewhere" || kind === "empty"

/** The content of a file as a checkout writes it, or the target of a link. */
const contentOf = (options: GitOptionsShape, request: ApplyRequest<unknown>, { newId, newMode, path }: RawChange) => {
  const isLink = newMode === "120000"
  return git({
    args: isLink ? ["cat-file", "blob", newId] : ["cat-file", "--batch", "--filters", "-z"],
    gitDir: request.target.gitDir,
    ...(!isLink && { workTree: request.target.workTree, stdin: Buffer.from(`${newId} ${path}\0`, "latin1") }),
    env: alternates(request),
    timeoutMs: options.localTimeoutMs
  }).pipe(
    Effect.flatMap(({ stdout }) =>
      isLink ? Effect.succeed(stdout) : readOutput("cat-file", () => filtered(stdout, newId))
    )
  )
}

/** The content in the output of `cat-file --batch --filters`, whose first line has the size before it was converted. */
const filtered = (output: Buffer, id: string): Buffer => {
  const end = output.indexOf("\n")
  if (!new RegExp(`^${id} blob \\d+$`).test(output.toString("latin1", 0, Math.max(end, 0))) || output.at(-1) !== 0x0a)
    throw new Error("not the blob that was asked for")
  return output.subarray(end + 1, -1)
}

const isAttributes = ({ path }: RawChange): boolean => path === ".gitattributes" || path.endsWith("/.gitattributes")

const pruneFolders = (workTree: string, folders: ReadonlyArray<Buffer>): Effect.Effect<void> => {
  const name = folders.at(-1)
  if (name === undefined) return Effect.void
  return inDirectory(workTree, folders.slice(0, -1), { create: false }, (directory) =>
    attempt(name, () => fs.rmdir(directory.entry(name)))
  ).pipe(
    Effect.andThen(Effect.suspend(() => pruneFolders(workTree, folders.slice(0, -1)))),
    // A folder that holds something else stays, and so do those above it.
    Effect.catchTag("BeneathError", () => Effect.void)
  )
}

const remove = (workTree: string, path: string): Effect.Effect<void, BeneathError> => {
  const names = latinNames(path)
  const folders = names.slice(0, -1)
  return Effect.zipRight(
    inDirectory(workTree, folders, { create: false }, (directory) => removeFile(directory, names.at(-1) ?? "")),
    pruneFolders(workTree, folders)
  )
}

/** `remove` for a path that a sparse workspace may not have. */
const removeIfThere = (workTree: string, path: string): Effect.Effect<void, BeneathError> =>
  Effect.catchIf(
    remove(workTree, path),
    ({ reason }) => reason === "missing" || reason === "not_a_directory" || reason === "link",
    () => Effect.void
  )

/**
 * Writes the `.gitattributes` of the folders above files that come to a sparse workspace without their folders. They decide how the files are written
 * and stored.
 */
const bringAttributes = (
  options: GitOptionsShape,
  { gitDir, workTree, base }: ApplyRequest["target"],
  paths: ReadonlyArray<string>
) =>
  Effect.gen(function* () {
    if (paths.length === 0) return
    const texts = yield* attributesOutside(options, yield* readCone(gitDir), { gitDir, base })(foldersAbove(paths))
    yield* Effect.forEach(
      texts,
      ([folder, text]) =>
        inDirectory(workTree, latinNames(folder), { create: true }, (directory) =>
          replaceFile(directory, ".gitattributes", text, { mode: 0o644, exclusive: true })
        ).pipe(
          Effect.catchIf(
            ({ reason }) => reason === "exists",
            () => Effect.void
          )
        ),
      { discard: true }
    )
  })

/** Writes down the removals that an absent file does not tell, because a sparse workspace has no files there. */
const recordRemoved = (gitDir: string, changes: ReadonlyArray<RawChange>) =>
  Effect.gen(function* () {
    const { isOutside, isSparse, removed } = yield* readCone(gitDir)
    const outside = changes.filter(({ path }) => isOutside(path))
    if (isSparse && outside.length > 0) {
      const gone = new Set(removed)
      for (const { newMode, path } of outside)
        if (newMode === noMode) gone.add(path)
        else gone.delete(path)
      yield* writeRemoved(gitDir, gone)
    }
    return new Set(outside.map(({ path }) => path))
  })

/** Removes the folder of a submodule, which is empty. */
const removeFolder = (workTree: string, path: string): Effect.Effect<void> => pruneFolders(workTree, latinNames(path))

/** Makes the folder of a submodule, without a checkout of it. */
const makeFolder = (workTree: string, path: string): Effect.Effect<void, BeneathError> =>
  inDirectory(workTree, latinNames(path), { create: true }, () => Effect.void)

/** Writes down the commits of the submodules that are changed, because an empty folder does not tell them. */
const recordLinks = (gitDir: string, changes: ReadonlyArray<RawChange>) =>
  Effect.gen(function* () {
    const changed = changes.filter(({ newMode, oldMode }) => newMode === gitlink || oldMode === gitlink)
    if (changed.length === 0) return
    const links = new Map(yield* readLinks(gitDir))
    for (const { newId, newMode, path } of changed)
      if (newMode === gitlink) links.set(path, newId)
      else links.delete(path)
    yield* writeLinks(gitDir, links)
  })

const put = (workTree: string, change: RawChange, bytes: Uint8Array): Effect.Effect<void, BeneathError> => {
  const names = latinNames(change.path)
  const name = names.at(-1) ?? ""
  return inDirectory(workTree, names.slice(0, -1), { create: true }, (directory) =>
    change.newMode === "120000"
      ? replaceLink(directory, name, bytes)
      : replaceFile(directory, name, bytes, { mode: change.newMode === "100755" ? 0o755 : 0o644, exclusive: false })
  )
}

const writeOut = (options: GitOptionsShape, request: ApplyRequest<unknown>, changes: ReadonlyArray<RawChange>) =>
  Effect.gen(function* () {
    const { gitDir, workTree } = request.target
    const files = changes.filter((change) => change.newMode !== noMode && change.newMode !== gitlink)
    // The new attributes decide how the other files are written.
    const written = [...files.filter(isAttributes), ...files.filter((change) => !isAttributes(change))]
    yield* recordLinks(gitDir, changes)
    const outside = yield* recordRemoved(gitDir, changes)
    // Removals first: a file may take the place of a folder.
    for (const { newMode, oldMode, path } of changes)
      if (oldMode === gitlink && newMode !== gitlink) yield* removeFolder(workTree, path)
      else if (newMode === noMode || (newMode === gitlink && oldMode !== noMode && oldMode !== gitlink))
        yield* (outside.has(path) ? removeIfThere : remove)(workTree, path)
    for (const { newMode, path } of changes) if (newMode === gitlink) yield* makeFolder(workTree, path)
    const arriving = written.map(({ path }) => path).filter((path) => outside.has(path))
    yield* bringAttributes(options, request.target, arriving)
    yield* Effect.forEach(
      written,
      (change) =>
        contentOf(options, request, change).pipe(
          Effect.flatMap((bytes) => put(workTree, change, bytes)),
          Effect.zipLeft(failpoint("application.file_written"))
        ),
      { discard: true }
    )
  }).pipe(
    Effect.catchTag("BeneathError", () =>
      Effect.fail(
        new GitError({
          kind: "internal",
          message: "The target workspace could not be written in full: compare its files, then apply again."
        })
      )
    ),
    Effect.uninterruptible
  )

/** See `Git.applyTree`. */
export const applyTree = Effect.fnUntraced(function* <E>(options: GitOptionsShape, request: ApplyRequest<E>) {
  const { source, target } = request
  yield* requireTrusted(source.gitDir, source.tree, ...(source.base === null ? [] : [source.base]))
  const ours = yield* snapshot(options, { ...target, whole: true })
  const base = yield* treeOf(options, request)
  if (request.strategy === "exact") {
    const paths = yield* inexact(options, request, ours.tree, base)
    if (paths.length > 0) return conflicted(paths)
  }
  const merged = yield* mergeTrees(options, request, ours.tree, base)
  if (merged.conflicts.length > 0) return conflicted(merged.conflicts)
  const changes = yield* rawChanges(options, target.gitDir, ours.tree, merged.tree, alternates(request))
  const blocked = [...(yield* filledSubmodules(request, changes)), ...(yield* inTheWay(options, request, changes))]
  if (blocked.length > 0) return conflicted(blocked)
  const changed = changes.map((change) => shownName(change.path)).sort()
  if (!request.dryRun) {
    if (request.planned !== undefined) yield* request.planned(changed)
    yield* writeOut(options, request, changes)
  }
  const result: ApplyResult = { state: "applied", conflicts: [], changed }
  return result
})
