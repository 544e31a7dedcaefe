import { existsSync } from "node:fs"
import * as fs from "node:fs/promises"
import { basename, join } from "node:path"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { diskFault } from "@reins/base/base/DiskFault"
import { failpoint } from "@reins/base/base/Failpoint"
import type { SessionId } from "@reins/base/domain/Ids"
import { Effect } from "effect"
import { nameForAgent } from "../../capture/agent/AgentAlternates.js"
import { attempt, type BeneathError } from "../../files/Beneath.js"
import { removeTree } from "../../files/RemoveTree.js"
import { namedStore } from "../../repository/objects/Alternates.js"
import type { GitError } from "../../repository/run/GitError.js"
import { objectsIn, type SessionPaths, sessionPaths } from "../SessionPaths.js"
import { stagingIn } from "../Staging.js"
import { noteOwedSetup } from "../setup/OwedSetup.js"
import { restoredApart } from "./RestoredApart.js"
import { restoredFiles } from "./RestoredFiles.js"
import { restoredObjects } from "./RestoredObjects.js"
import { type PartsApart, type RestoreEar, type RestoreOrder, SnapshotError } from "./TreeSnapshots.js"

const failureOf = (error: GitError | BeneathError | SnapshotError): SnapshotError => {
  switch (error._tag) {
    case "SnapshotError":
      return error
    case "GitError":
      return new SnapshotError({
        message: error.message,
        retryable: error.kind === "remote_unavailable" || error.kind === "timeout"
      })
    case "BeneathError":
      return new SnapshotError({ message: diskFault("The files cannot be written", error), retryable: true })
  }
}

const scratchIn = (dataDir: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      await fs.mkdir(objectsIn(dataDir), { recursive: true, mode: 0o700 })
      return fs.mkdtemp(join(objectsIn(dataDir), "of-"))
    }),
    (directory) => Effect.promise(() => removeTree(directory))
  )

/** Makes place for a session. Fails where something is that no restore has begun: it may be the only copy of somebody's work. */
const clear = ({ gitDir, home, restoring, root, workTree }: SessionPaths) =>
  Effect.gen(function* () {
    const isTaken = [workTree, gitDir].some(existsSync)
    if (isTaken && !existsSync(restoring)) {
      const message = `Something is at ${root} already: move it away, then restore the session again.`
      return yield* new SnapshotError({ message, retryable: false })
    }
    yield* attempt(root, async () => {
      await fs.mkdir(root, { recursive: true, mode: 0o700 })
      await fs.writeFile(restoring, "")
      for (const path of [workTree, gitDir, home]) await removeTree(path)
    })
  })

/** Makes the files of sessions on this machine from their snapshots. */
export const restoreHere = Effect.gen(function* () {
  const { dataDir } = yield* CoreConfig
  const { checkOut, objects } = yield* restoredObjects
  const putFiles = yield* restoredFiles
  const { addChangesets, putUploads } = yield* restoredApart

  const restore = Effect.fnUntraced(function* (order: RestoreOrder, ear: RestoreEar) {
    const paths = sessionPaths(dataDir, order.session)
    const { apart, hasFiles, manifest, owesSetup } = order
    yield* clear(paths)
    const staging = yield* stagingIn(paths, "restored")
    yield* checkOut(order, paths, staging, ear)
    yield* failpoint("restore.files_made")
    yield* addChangesets(paths.gitDir, apart, staging, ear)
    const isNeeded = manifest.has_files && hasFiles
    const skipped = isNeeded ? yield* putFiles(order, paths, staging, ear) : []
    if (isNeeded) {
      yield* nameForAgent(paths.workTree, yield* namedStore(paths.gitDir))
      yield* putUploads(paths, apart, ear)
      const leftOut = manifest.left_out.map(({ path }) => path)
      if (owesSetup) yield* noteOwedSetup(paths, leftOut)
    }
    yield* ear.made
    yield* attempt(paths.root, () => fs.rm(paths.restoring))
    return skipped
  }, Effect.scoped)

  return {
    restore: (order: RestoreOrder, ear: RestoreEar) => Effect.mapError(restore(order, ear), failureOf),
    objects: Effect.fnUntraced(function* (order: RestoreOrder, ear: Pick<RestoreEar, "blob" | "credential">) {
      const directory = yield* scratchIn(dataDir)
      const gitDir = join(directory, "trusted.git")
      yield* objects(order, { staging: directory, gitDir, copyBaseTo: null }, ear).pipe(
        Effect.zipRight(addChangesets(gitDir, order.apart, directory, ear)),
        Effect.mapError(failureOf)
      )
      return { scratch: join(basename(directory), "trusted.git") }
    }),
    add: Effect.fnUntraced(function* (session: SessionId, apart: PartsApart, ear: Pick<RestoreEar, "blob">) {
      const { changesets, uploads } = apart
      if (changesets.length === 0 && uploads.length === 0) return
      const paths = sessionPaths(dataDir, session)
      const staging = yield* stagingIn(paths, "restored")
      yield* addChangesets(paths.gitDir, apart, staging, ear).pipe(
        Effect.zipRight(putUploads(paths, apart, ear)),
        Effect.mapError(failureOf)
      )
    }, Effect.scoped)
  }
})
