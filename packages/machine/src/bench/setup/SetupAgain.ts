import { existsSync } from "node:fs"
import * as fs from "node:fs/promises"
import { join } from "node:path"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { diskFault } from "@reins/base/base/DiskFault"
import { Effect } from "effect"
import { attempt, type BeneathError, inDirectory } from "../../files/Beneath.js"
import { beneath, pathNames } from "../../files/NameText.js"
import { GitError } from "../../repository/run/GitError.js"
import type { cloning } from "../Cloning.js"
import { type SessionPaths, sessionPaths } from "../SessionPaths.js"
import { stagingIn } from "../Staging.js"
import type { SetupOrder, TreeOrigin } from "../TreeOrder.js"
import { owedPaths } from "./OwedSetup.js"
import type { SetupTrees } from "./SetupSnapshots.js"
import type { SetupEar, workspaceSetup } from "./WorkspaceSetup.js"

/**
 * Brings what the setup of a project leaves back into a session that came from a snapshot, unless it was brought already. The setup is taken or run
 * beside the session, and what it leaves in the home is added to it, as are those of its files in the workspace that the snapshot left out. What
 * the snapshot has stays as it is. The caller keeps everybody else from making or removing the workspace, and no agent runs.
 */
export const setupAgain = Effect.fnUntraced(function* (
  clone: Effect.Effect.Success<typeof cloning>,
  setUp: Effect.Effect.Success<typeof workspaceSetup>
) {
  const { dataDir } = yield* CoreConfig

  return Effect.fnUntraced(function* (origin: TreeOrigin, setup: SetupOrder, ear: SetupEar) {
    const paths = sessionPaths(dataDir, origin.session)
    if (!existsSync(paths.setupOwed)) return
    const beside = yield* stagingIn(paths, "setup")
    const trees: SetupTrees = {
      workTree: join(beside, "workspace"),
      home: join(beside, "home"),
      gitDir: join(beside, "trusted.git")
    }
    const { base_commit, base_ref } = origin
    const site = { trees, base: { base_commit, base_ref }, makeBase: clone(origin, trees, ear) }
    yield* setUp(origin, setup, site, ear)
    yield* Effect.mapError(bringOver(trees, paths), notBrought)
  }, Effect.scoped)
})

const notBrought = (error: BeneathError) =>
  new GitError({
    kind: "internal",
    message: diskFault("The files of the setup could not be brought into the session", error)
  })

const bringOver = (from: SetupTrees, to: SessionPaths) =>
  Effect.gen(function* () {
    const leftOut = yield* attempt(to.setupOwed, () => owedPaths(to))
    yield* attempt(to.home, () => addMissing(from.home, to.home))
    for (const path of leftOut) yield* bringPath(from.workTree, to.workTree, pathNames(path))
    yield* attempt(to.setupOwed, () => fs.rm(to.setupOwed))
  })

const isAbsent = (path: string | Buffer): Promise<boolean> =>
  fs.lstat(path).then(
    () => false,
    (cause: unknown) => {
      if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return true
      throw cause
    }
  )

/** Moves what another directory lacks into it. No link is followed. */
const addMissing = async (from: string | Buffer, into: string | Buffer): Promise<void> => {
  if (await isAbsent(into)) return fs.rename(from, into)
  const isDirectory = (await fs.lstat(into)).isDirectory()
  if (!isDirectory) return
  for (const entry of await fs.readdir(from, { withFileTypes: true, encoding: "buffer" })) {
    const [source, target] = [beneath(from, entry.name), beneath(into, entry.name)]
    if (entry.isDirectory()) await addMissing(source, target)
    else if (await isAbsent(target)) await fs.rename(source, target)
  }
}

/** Moves a path of one folder into another one that lacks it. One that the setup has not made, or that would lead through a link, is none. */
const bringPath = (from: string, into: string, names: ReadonlyArray<Buffer>) => {
  const above = names.slice(0, -1)
  const name = names.at(-1) ?? Buffer.alloc(0)
  return inDirectory(from, above, { create: false }, (source) =>
    inDirectory(into, above, { create: true }, (target) =>
      attempt(name, async () => {
        if (await isAbsent(target.entry(name))) await fs.rename(source.entry(name), target.entry(name))
      })
    )
  ).pipe(
    Effect.catchIf(
      ({ reason }) => reason === "missing" || reason === "link" || reason === "not_a_directory",
      () => Effect.void
    )
  )
}
