import * as fs from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Bell } from "@reins/core/store/Bell"
import * as Sqlite from "@reins/core/store/Sqlite"
import { WorkingTrees } from "@reins/core/worktrees/WorkingTrees"
import type { GitError } from "@reins/machine/repository/run/GitError"
import { bareRemote, plainGit, put, remoteCommit } from "@reins/testing/git/Fixture"
import { gitHttpServer } from "@reins/testing/git/GitHttpServer"
import { pathsOf } from "@reins/testing/sessions/Paths"
import { ownerWithConnection } from "@reins/testing/sessions/Services"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { storeSweep } from "../../../machine/src/bench/StoreSweep.js"
import { storeNameOf, storesAt } from "../../../machine/src/bench/StoresHere.js"
import { makeShared } from "../../src/worktrees/SessionLock.js"
import { temporaryDirectory } from "../execution/Agent.js"
import { listingOf, repositoryOf, sealedSession, withSnapshots } from "./Snapshooting.js"

// These are about files alone, which are the same on every database.

const layer = Layer.merge(Sqlite.layerMemory, Bell.layer)

const alternates = (gitDir: string): string => fs.readFileSync(join(gitDir, "objects/info/alternates"), "utf8")

const setUp = Effect.gen(function* () {
  const root = yield* temporaryDirectory
  const url = bareRemote(root, { "a.txt": "one\n" })
  const { principal, workspaceId } = yield* ownerWithConnection
  const trees = yield* WorkingTrees
  const { dataDir } = yield* CoreConfig
  const sessions = yield* Sessions
  const make = Effect.gen(function* () {
    const { id } = yield* sessions.create(principal, workspaceId, { repository: { url }, prewarm: false })
    yield* trees.make(id)
    return { id, ...(yield* pathsOf(id)) }
  })
  const store = join(dataDir, "object-stores", storeNameOf(workspaceId, url))
  const age = (path: string) => fs.utimesSync(path, new Date(0), new Date(0))
  const sweep = storeSweep(dataDir, makeShared)
  return { root, url, trees, dataDir, make, store, age, sweep, workspaceId }
})

const whole = ({ workTree }: { readonly workTree: string }): void => {
  plainGit(workTree, "fsck", "--connectivity-only")
  assert.strictEqual(plainGit(workTree, "status", "--porcelain"), "")
}

describe("the object stores of sessions", () => {
  it.scopedLive("are one for a workspace and a URL, and no other workspace has the same", () =>
    Effect.gen(function* () {
      const { make, store, url, workspaceId } = yield* setUp
      const [one, two] = [yield* make, yield* make]
      for (const { gitDir, workTree } of [one, two]) {
        assert.strictEqual(alternates(gitDir), `${join(store, "objects")}\n`)
        assert.strictEqual(alternates(join(workTree, ".git")), `${join(store, "objects")}\n`)
        assert.isEmpty(fs.readdirSync(join(workTree, ".git/objects/pack")))
        whole({ workTree })
      }
      assert.lengthOf(
        fs.readdirSync(join(store, "objects/pack")).filter((name) => name.endsWith(".pack")),
        1
      )
      assert.strictEqual(fs.statSync(store).mode & 0o077, 0)
      const names = [storeNameOf(workspaceId, url), storeNameOf("other", url), storeNameOf(workspaceId, `${url}/`)]
      assert.lengthOf(new Set(names), 3)
    }).pipe(Effect.provide(withSnapshots(layer)))
  )

  it.scopedLive("are dropped when nothing names them and nobody has used them for long", () =>
    Effect.gen(function* () {
      const { age, dataDir, make, store, sweep } = yield* setUp
      const session = yield* make
      const setup = join(dataDir, "setups", "f".repeat(64), "trusted.git/objects/info")
      fs.mkdirSync(setup, { recursive: true })
      const isThere = Effect.gen(function* () {
        yield* sweep
        return fs.existsSync(store)
      })
      age(store)
      assert.isTrue(yield* isThere)
      fs.cpSync(join(session.gitDir, "objects/info/alternates"), join(setup, "alternates"))
      fs.rmSync(session.root, { recursive: true })
      assert.isTrue(yield* isThere)
      fs.rmSync(setup, { recursive: true })
      fs.utimesSync(store, new Date(), new Date())
      assert.isTrue(yield* isThere)
      age(store)
      const left = join(dataDir, "object-stores/dropped-1")
      fs.mkdirSync(left)
      assert.isFalse(yield* isThere)
      assert.isFalse(fs.existsSync(left))
      assert.isEmpty(fs.readdirSync(join(dataDir, "object-stores")).filter((name) => !name.includes(".lock")))
    }).pipe(Effect.provide(withSnapshots(layer)))
  )

  it.scopedLive("are made again for a session before its next turn, when they are gone or damaged", () =>
    Effect.gen(function* () {
      const { make, root, store, trees, url } = yield* setUp
      remoteCommit(root, "gone", "g.txt", "g\n")
      const session = yield* make
      yield* trees.prepare(session.id)
      fs.rmSync(store, { recursive: true })
      plainGit("/", `--git-dir=${url}`, "update-ref", "-d", "refs/heads/gone")
      yield* trees.prepare(session.id)
      whole(session)
      const trusted = (...args: ReadonlyArray<string>) => plainGit("/", `--git-dir=${session.gitDir}`, ...args)
      assert.notInclude(trusted("for-each-ref"), "gone")
      trusted("fsck", "--connectivity-only")

      const [pack = ""] = fs.readdirSync(join(store, "objects/pack")).filter((name) => name.endsWith(".pack"))
      fs.rmSync(join(store, "objects/pack", pack))
      fs.writeFileSync(join(store, "reins-doubted"), "")
      yield* trees.prepare(session.id)
      whole(session)
      assert.isFalse(fs.existsSync(join(store, "reins-doubted")))
      // A store in doubt that is whole needs no remote.
      fs.writeFileSync(join(store, "reins-doubted"), "")
      fs.rmSync(url, { recursive: true })
      yield* trees.prepare(session.id)
      assert.isFalse(fs.existsSync(join(store, "reins-doubted")))
    }).pipe(Effect.provide(withSnapshots(layer)))
  )

  it.scopedLive("are made by a session that comes back from its snapshot, whose repositories are those of before", () =>
    Effect.gen(function* () {
      const http = (path: string) => Effect.map(gitHttpServer(join(path, ".."), null), ({ url }) => `${url}/remote.git`)
      const session = yield* sealedSession({ "a.txt": "one\n", "dir/b.txt": "b\n" }, http)
      const { gitDir, workTree } = session.paths
      const { dataDir } = yield* CoreConfig
      put(workTree, "a.txt", "changed\n")
      plainGit(workTree, "commit", "--quiet", "--all", "--message=of the agent")
      put(workTree, "c.txt", "c\n")
      yield* session.seal
      const before = { files: listingOf(workTree), repository: repositoryOf(workTree), store: alternates(gitDir) }
      yield* session.lose
      fs.rmSync(join(dataDir, "object-stores"), { recursive: true })
      const restored = yield* session.restore
      assert.isEmpty(restored.skipped)
      assert.deepStrictEqual(listingOf(workTree), before.files)
      assert.strictEqual(repositoryOf(workTree), before.repository)
      assert.strictEqual(alternates(gitDir), before.store)
      assert.strictEqual(alternates(join(workTree, ".git")), before.store)
      plainGit("/", `--git-dir=${gitDir}`, "fsck", "--connectivity-only")
    }).pipe(Effect.provide(withSnapshots(layer)))
  )
})

it.scopedLive("work with a store ends when it is done, also where nothing may interrupt it", () =>
  Effect.gen(function* () {
    const store = storesAt(yield* temporaryDirectory, makeShared)("a".repeat(64))
    const used = store.alone(Effect.succeed("done"))
    assert.strictEqual(yield* used, "done")
    assert.strictEqual(yield* Effect.uninterruptible(used), "done")
    // Its caller was interrupted before, and nothing may cut its work short.
    const [begun, go, ended] = yield* Effect.all([
      Deferred.make<void>(),
      Deferred.make<void>(),
      Deferred.make<string, GitError>()
    ])
    const work = Deferred.succeed(begun, undefined).pipe(
      Effect.zipRight(Deferred.await(go)),
      Effect.zipRight(Effect.intoDeferred(used, ended)),
      Effect.uninterruptible
    )
    const caller = yield* Effect.fork(work)
    yield* Deferred.await(begun)
    const interrupted = yield* Effect.fork(Fiber.interrupt(caller))
    yield* Effect.yieldNow()
    yield* Deferred.succeed(go, undefined)
    assert.strictEqual(yield* Deferred.await(ended), "done")
    yield* Fiber.join(interrupted)
    // Whoever may be interrupted while another has the store goes at once.
    const holds = yield* Deferred.make<void>()
    const holder = yield* Effect.fork(store.alone(Effect.zipRight(Deferred.succeed(holds, undefined), Effect.never)))
    yield* Deferred.await(holds)
    const waiting = yield* Effect.fork(used)
    yield* Effect.yieldNow()
    yield* Fiber.interrupt(waiting)
    yield* Fiber.interrupt(holder)
    assert.strictEqual(yield* used, "done")
  })
)
