import { join } from "node:path"
import { failpoint } from "@reins/base/base/Failpoint"
import { Effect } from "effect"
import { attributesOutside } from "../../capture/files/Outside.js"
import { makeStoring } from "../../capture/files/Storing.js"
import { type BlobWriter, blobId } from "../../capture/index/BlobWriter.js"
import { capture, refusedName } from "../../capture/index/Capture.js"
import { withCapturing } from "../../capture/index/Capturing.js"
import { snapshot } from "../../capture/Snapshot.js"
import { requireTrusted } from "../../repository/Repository.js"
import { isAttributes, noMode, type RawChange, rawChanges, shownName } from "../../repository/read/Changes.js"
import { gitlink } from "../../repository/read/GitModules.js"
import { emptyTree, git, isObjectId } from "../../repository/run/GitCommand.js"
import { GitError, notUnderstood, readOutput } from "../../repository/run/GitError.js"
import type { GitOptionsShape } from "../../repository/run/GitOptions.js"
import { bringAttributes } from "./ApplyAttributes.js"
import { makeFolder, putFile, removeFolder, removeIfThere, removePath } from "./ApplyFiles.js"
import { filledSubmodules, recordLinks, recordRemoved } from "./ApplyRecords.js"
import type { ApplyRequest, ApplyResult } from "./ApplyRequest.js"
import { mergeTrees } from "./MergeTrees.js"

const conflicted = (paths: ReadonlyArray<string>): ApplyResult => ({
  state: "conflicted",
  conflicts: [...new Set(paths.map(shownName))].sort(),
  changed: []
})

// The objects of the source are read in place, and the merge writes its own into the target.
const alternates = (request: ApplyRequest<unknown>): Record<string, string> => ({
  GIT_ALTERNATE_OBJECT_DIRECTORIES: JSON.stringify(join(request.source.gitDir, "objects"))
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
        yield* (outside.has(path) ? removeIfThere : removePath)(workTree, path)
    for (const { newMode, path } of changes) if (newMode === gitlink) yield* makeFolder(workTree, path)
    const arriving = written.map(({ path }) => path).filter((path) => outside.has(path))
    yield* bringAttributes(options, request.target, arriving)
    yield* Effect.forEach(
      written,
      (change) =>
        contentOf(options, request, change).pipe(
          Effect.flatMap((bytes) => putFile(workTree, change, bytes)),
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
  const merged = yield* mergeTrees(options, {
    gitDir: target.gitDir,
    base,
    ours: ours.tree,
    theirs: source.tree,
    env: alternates(request)
  })
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
