import { existsSync } from "node:fs"
import { mkdir, readdir, rename, rmdir } from "node:fs/promises"
import { basename, join } from "node:path"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { failpoint } from "@reins/base/base/Failpoint"
import type { SessionId } from "@reins/base/domain/Ids"
import { Effect } from "effect"
import { beneath } from "../files/NameText.js"
import { removeTree } from "../files/RemoveTree.js"
import { Git } from "../git/Git.js"
import { GitError, onDisk } from "../repository/run/GitError.js"
import type { MakingEar, Trees } from "./Bench.js"
import { cloning } from "./Cloning.js"
import { objectStores } from "./ObjectStores.js"
import { objectsIn, type SessionPaths, sessionPaths } from "./SessionPaths.js"
import { setupAgain } from "./setup/SetupAgain.js"
import { workspaceSetup } from "./setup/WorkspaceSetup.js"
import type { ObjectSource, TreeBase, TreeOrder, TreeOrigin } from "./TreeOrder.js"

/** The files of the sessions of this machine. */
export const treesHere = Effect.gen(function* () {
  const { dataDir } = yield* CoreConfig
  const git = yield* Git
  const stores = yield* objectStores
  const clone = yield* cloning
  const setUp = yield* workspaceSetup
  const pathsOf = (session: SessionId) => sessionPaths(dataDir, session)
  const trees: Trees = {
    look: (session) =>
      Effect.flatMap(stores, ({ isReliable }) =>
        Effect.map(isReliable(session), (isReliable) => {
          const { setupOwed, workTree } = pathsOf(session)
          return { isThere: existsSync(workTree), isReliable, owesSetup: existsSync(setupOwed) }
        })
      ),
    make: yield* makeWorkTree(clone, setUp),
    setUpAgain: yield* setupAgain(clone, setUp),
    reattach: yield* makeReattach,
    filters: (session, tree) => git.filters({ gitDir: pathsOf(session).gitDir, tree }),
    remove: (session) =>
      Effect.promise(async () => {
        const { home, making, workTree } = pathsOf(session)
        for (const tree of [workTree, making, home]) await removeTree(tree)
      })
  }
  return trees
})

/** `Trees.make`. */
const makeWorkTree = Effect.fnUntraced(function* (
  clone: Effect.Effect.Success<typeof cloning>,
  setUp: Effect.Effect.Success<typeof workspaceSetup>
) {
  const { dataDir } = yield* CoreConfig
  const plant = yield* makePlant

  return Effect.fnUntraced(function* (order: TreeOrder, ear: MakingEar) {
    const paths = sessionPaths(dataDir, order.session)
    const { gitDir, home, making, setupOwed, workTree } = paths
    // No agent was told of a workspace that was not ready, so an interrupted attempt has left everything that is there.
    yield* Effect.promise(async () => {
      for (const tree of [workTree, gitDir, making, setupOwed]) await removeTree(tree)
    })
    const filled = (folder: string, fill: Effect.Effect<TreeBase, GitError>) =>
      Effect.tap(fill, (base) => plant(order, { gitDir, workTree: folder }, base.base_commit, ear))
    const trees = { workTree, home, gitDir }
    const { setup } = order
    if (setup !== null)
      return yield* filled(workTree, setUp(order, setup, { trees, makeBase: clone(order, trees, ear) }, ear))
    yield* Effect.promise(() => mkdir(workTree, { recursive: true }))
    const [base] = yield* Effect.all([filled(making, clone(order, { gitDir, workTree: making }, ear)), ear.beside], {
      concurrency: "unbounded"
    })
    yield* failpoint("workspace.cloned")
    yield* place(paths, ear)
    return base
  })
})

/**
 * Moves the files of a workspace to its directory once all are there. The processes in that directory, or that have it mounted, see them from then
 * on. They never see a file before that: they could put a link in its place while it is written with the rights of the service.
 */
const place = ({ making, workTree }: SessionPaths, ear: MakingEar) => {
  const move = (clear: (path: Buffer) => Promise<void>) =>
    onDisk("The workspace folder could not be made", async () => {
      for (const name of await readdir(making, { encoding: "buffer" })) {
        await clear(beneath(workTree, name))
        await rename(beneath(making, name), beneath(workTree, name))
      }
      await rmdir(making)
    })
  return move(async () => {}).pipe(
    // An agent that has started meanwhile has put something in the way. Nobody removes it before that agent is gone.
    Effect.catchAll(() => Effect.zipRight(ear.clear, move(removeTree)))
  )
}

/** The git directory that has the objects of a source. */
export const gitDirOf = (dataDir: string, source: ObjectSource): string =>
  "session" in source ? sessionPaths(dataDir, source.session).gitDir : join(objectsIn(dataDir), source.scratch)

/** Brings the seed of a session onto the base that it was made from. */
const makePlant = Effect.gen(function* () {
  const { dataDir } = yield* CoreConfig
  const git = yield* Git

  return Effect.fnUntraced(function* (
    { seed }: TreeOrder,
    target: Pick<SessionPaths, "gitDir" | "workTree">,
    base: string | null,
    ear: MakingEar
  ) {
    if (seed === null) return
    const source = gitDirOf(dataDir, yield* ear.seed)
    const { state } = yield* git.applyTree({
      source: { gitDir: source, base: seed.base, tree: seed.tree },
      target: { ...target, base },
      strategy: "exact",
      dryRun: false
    })
    if (state === "conflicted") {
      return yield* new GitError({
        kind: "conflict",
        message: `The changeset ${seed.changeset} does not fit its own base. Start from another changeset.`
      })
    }
  }, Effect.scoped)
})

/** `Trees.reattach`. */
const makeReattach = Effect.gen(function* () {
  const { dataDir } = yield* CoreConfig
  const git = yield* Git
  const storesOf = yield* objectStores

  return Effect.fnUntraced(function* (origin: TreeOrigin, ear: Pick<MakingEar, "credential">) {
    const stores = yield* storesOf
    const store = stores.storeFor(origin)
    const path = yield* stores.named(origin.session)
    if (origin.repository === null || store === null || path === null) return false
    const { gitDir, workTree } = sessionPaths(dataDir, origin.session)
    const credential = yield* ear.credential
    return yield* git.reattach({
      gitDir,
      workTree,
      url: origin.repository,
      base: origin.base_commit,
      named: stores.at(basename(path)),
      store,
      ...(credential && { credential })
    })
  })
})
