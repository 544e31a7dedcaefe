import { join } from "node:path"
import { canonicalJson, digestOf } from "@reins/base/base/CanonicalJson"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { failpoint } from "@reins/base/base/Failpoint"
import { Clock, Effect, Option } from "effect"
import { Executors } from "../../executor/Executors.js"
import { removeTree } from "../../files/RemoveTree.js"
import { Git } from "../../git/Git.js"
import { GitError } from "../../repository/run/GitError.js"
import type { MakingEar } from "../Bench.js"
import { baseOf } from "../Cloning.js"
import { FileLocks } from "../FileLocks.js"
import { objectStores } from "../ObjectStores.js"
import type { DirectoryOwner } from "../OwnerMarks.js"
import { agentPlaces, sessionPaths } from "../SessionPaths.js"
import type { SetupOrder, TreeBase, TreeOrigin } from "../TreeOrder.js"
import type { SetupNote } from "./SetupReport.js"
import { setupRun, temporaryName } from "./SetupRun.js"
import { type SetupTrees, setupSnapshots } from "./SetupSnapshots.js"

/** The places that a setup fills, and the files from which it starts. */
export interface SetupSite {
  /** The paths of the files. Nothing is at them. */
  readonly trees: SetupTrees
  /** The base, where it is known already. The remote is asked for it otherwise. */
  readonly base?: TreeBase
  /** Makes the base at the paths. */
  readonly makeBase: Effect.Effect<TreeBase, GitError>
}

/** The questions of a setup to whoever has ordered it. */
export type SetupEar = Pick<MakingEar, "credential" | "setup" | "closed">

/** The setups that run at once in this process. Others wait. */
const atOnce = 4
/** The time that all commands of a setup may take together, in seconds. */
const setupSeconds = 1500

const failed = (message: string) => new GitError({ kind: "setup_failed", message })

/**
 * Puts the files of a session on disk with what the setup of its project leaves. It copies
 * what an earlier setup has left. Else the given effect makes the base, and the commands run, once at a time for all sessions that need the same.
 * An attempt that was broken off begins anew.
 */
export const workspaceSetup = Effect.gen(function* () {
  const git = yield* Git
  const makeLock = yield* FileLocks
  const snapshots = yield* setupSnapshots
  const prepare = yield* makePrepare
  const run = yield* makeRun
  const targetOf = yield* makeResolve
  const alone = makeLock(snapshots.lockOf)

  return Effect.fnUntraced(function* (origin: TreeOrigin, setup: SetupOrder, site: SetupSite, ear: SetupEar) {
    const { base: known, makeBase, trees } = site
    const begunMs = yield* Clock.currentTimeMillis
    const commands = yield* prepare(origin, setup, trees)
    const target = known ?? (yield* targetOf(origin, ear))
    const key = keyOf(setup, target)
    const told = (type: "setup.started" | "setup.succeeded" | "setup.failed", payload: Partial<SetupFacts>) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const duration_ms = type === "setup.started" ? null : now - begunMs
        const whole = { base_commit: target.base_commit, from_snapshot: false, reason: null, ...payload }
        return ear.setup([{ type, payload: { ...whole, steps: commands.steps.length, duration_ms } }])
      })

    const fromSnapshot = Effect.gen(function* () {
      if (!(yield* snapshots.take(key, trees))) return Option.none<TreeBase>()
      yield* told("setup.succeeded", { from_snapshot: true })
      return Option.some(target)
    })
    const fromCommands = Effect.gen(function* () {
      const base = yield* makeBase
      yield* told("setup.started", { base_commit: base.base_commit })
      const tell = (notes: ReadonlyArray<SetupNote>) =>
        Effect.zipRight(ear.setup(notes), failpoint("setup.output_told"))
      yield* run(commands, tell, ear.closed).pipe(
        Effect.tapError(({ message }) => told("setup.failed", { base_commit: base.base_commit, reason: message }))
      )
      yield* git.adopt({ ...trees, base: base.base_commit })
      yield* failpoint("setup.ran")
      yield* snapshots.publish(keyOf(setup, base), trees, ownerOf(origin, setup))
      yield* told("setup.succeeded", { base_commit: base.base_commit })
      return base
    })
    const found = yield* fromSnapshot
    if (Option.isSome(found)) return found.value
    // A session that had to wait finds the snapshot of the other one.
    return yield* alone(
      key,
      Effect.flatMap(fromSnapshot, Option.match({ onNone: () => fromCommands, onSome: Effect.succeed }))
    )
  })
})

interface SetupFacts {
  readonly base_commit: string | null
  readonly from_snapshot: boolean
  readonly reason: string | null
}

const ownerOf = ({ workspace }: TreeOrigin, { sameness: { project_id } }: SetupOrder): DirectoryOwner => ({
  workspace_id: workspace,
  project_id: typeof project_id === "string" ? project_id : null
})

/** The name of what a setup leaves, in which everything is that it depends on. */
const keyOf = ({ sameness }: SetupOrder, { base_commit, base_ref }: TreeBase): string =>
  digestOf(
    canonicalJson({ ...sameness, base_commit, base_ref, platform: `${process.platform} ${process.arch}` })
  ).slice(7)

/** The commit that the files of a session would start from now. The remote is asked with the credential of the session each time. */
const makeResolve = Effect.gen(function* () {
  const { dataDir } = yield* CoreConfig
  const git = yield* Git

  return Effect.fnUntraced(function* (origin: TreeOrigin, ear: SetupEar) {
    const none: TreeBase = { base_commit: null, base_ref: null }
    if (origin.repository === null) return none
    const credential = yield* ear.credential
    const resolved = yield* git.resolve({
      url: origin.repository,
      ref: origin.base_commit ?? origin.base_ref,
      directory: sessionPaths(dataDir, origin.session).root,
      ...(credential && { credential })
    })
    return baseOf(origin, resolved)
  })
})

/** The commands of a session's setup, with the executor that they run in. Nothing of an earlier attempt is left. */
const makePrepare = Effect.gen(function* () {
  const executors = yield* Executors
  const stores = yield* objectStores

  return Effect.fnUntraced(function* (origin: TreeOrigin, setup: SetupOrder, { home, workTree }: SetupTrees) {
    const executor = yield* executors.choose(setup.backend, setup.bounds).pipe(
      Effect.flatMap(executors.get),
      Effect.mapError(({ message }) => failed(message))
    )
    const mark = `setup_${origin.session}`
    yield* executor.reap(mark)
    yield* Effect.promise(() => removeTree(home))
    return {
      steps: setup.steps,
      variables: setup.variables,
      network: setup.network,
      limits: setup.limits,
      executor,
      mark,
      // The files are made anew, also for a session that has some.
      objectsDir: yield* (yield* stores).readable(origin, false),
      workspaceDir: workTree,
      homeDir: home,
      // The files that a setup leaves may name its paths, and the agent comes after it.
      ...(executor.ownPaths === true && { seenAt: agentPlaces(origin.session) })
    }
  })
})

/** Runs commands within the time that a setup has, and no longer than their session is there. */
const makeRun = Effect.gen(function* () {
  const run = yield* setupRun
  const places = yield* Effect.makeSemaphore(atOnce)

  return (commands: Parameters<typeof run>[0], tell: Parameters<typeof run>[1], closed: Effect.Effect<void>) =>
    run(commands, tell).pipe(
      Effect.catchAll(({ message }) => failed(message)),
      Effect.timeoutFail({
        duration: setupSeconds * 1000,
        onTimeout: () => failed(`The setup took longer than ${setupSeconds} s in all and was ended.`)
      }),
      Effect.raceFirst(Effect.zipRight(closed, failed("The session was closed while its workspace was set up."))),
      Effect.zipRight(Effect.promise(() => removeTree(join(commands.homeDir, temporaryName)))),
      places.withPermits(1)
    )
})
