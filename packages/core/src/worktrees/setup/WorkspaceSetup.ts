import { join } from "node:path"
import { Clock, Effect, Option, Schedule } from "effect"
import { systemActor } from "../../access/Access.js"
import { canonicalJson, digestOf } from "../../base/CanonicalJson.js"
import { CoreConfig } from "../../base/CoreConfig.js"
import { failpoint } from "../../base/Failpoint.js"
import type { NewEvent } from "../../domain/Event.js"
import { Executors } from "../../executor/Executors.js"
import { removeTree } from "../../files/RemoveTree.js"
import { Git } from "../../git/Git.js"
import { GitError } from "../../git/GitError.js"
import type { ProjectSpec } from "../../projects/Project.js"
import { projectEnvironment } from "../../projects/ProjectEnvironment.js"
import { isFor } from "../../projects/ProjectSetup.js"
import { boundsOf, limitsOf } from "../../sessions/SessionBounds.js"
import type { SessionRow } from "../../sessions/SessionRow.js"
import { SessionStore } from "../../sessions/SessionStore.js"
import { Journal } from "../../store/Journal.js"
import { gitCredentials } from "../GitCredentials.js"
import { objectStores } from "../ObjectStores.js"
import { ownedCommits } from "../OwnedCommits.js"
import * as SessionLock from "../SessionLock.js"
import { agentPlaces, sessionPaths } from "../SessionPaths.js"
import type { Base } from "../WorkingTreeStore.js"
import { setupRun, temporaryName } from "./SetupRun.js"
import { setupSnapshots, type Trees } from "./SetupSnapshots.js"

/** The commit and the branch that a workspace starts from. */

/** The places that a setup fills, and the files from which it starts. */
export interface SetupSite {
  /** The paths of the files. Nothing is at them. */
  readonly trees: Trees
  /** The base, where it is known already. The remote is asked for it otherwise. */
  readonly base?: Base
  /** Makes the base at the paths. */
  readonly makeBase: Effect.Effect<Base, GitError>
}

/** The setups that run at once in this process. Others wait. */
const atOnce = 4
/** The time that all commands of a setup may take together, in seconds. */
const setupSeconds = 1500

const actor = systemActor("workspaces")

/** True for a spec whose workspaces are prepared by commands. */
export const hasSetup = ({ setup = [] }: ProjectSpec): boolean => setup.length > 0

const failed = (message: string) => new GitError({ kind: "setup_failed", message })

/**
 * Puts the files of a workspace on disk with what the setup of its project leaves. That is copied where an earlier setup has left it; else the
 * base is made by the given effect and the commands run, once at a time for all sessions that need the same. An attempt that was broken off is begun
 * anew.
 */
export const workspaceSetup = Effect.gen(function* () {
  const git = yield* Git
  const journal = yield* Journal
  const commit = yield* ownedCommits
  const snapshots = yield* setupSnapshots
  const prepare = yield* preparing
  const run = yield* running
  const targetOf = yield* resolving
  const alone = SessionLock.makeShared(snapshots.lockOf)

  return Effect.fnUntraced(function* (row: SessionRow, spec: ProjectSpec, { base: known, makeBase, trees }: SetupSite) {
    const begunMs = yield* Clock.currentTimeMillis
    const { commands, secretVersions } = yield* prepare(row, spec, trees)
    const keyOf = (base: Base): string => digestOf(canonicalJson(sameness(row, spec, secretVersions, base))).slice(7)
    const target = known ?? (yield* targetOf(row))
    const key = keyOf(target)
    const tell = (events: ReadonlyArray<NewEvent>) =>
      Effect.asVoid(commit(row.id, journal.append(row.id, actor, events)))
    const told = (type: "setup.started" | "setup.succeeded" | "setup.failed", payload: Partial<SetupFacts>) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const duration_ms = type === "setup.started" ? null : now - begunMs
        const whole = { base_commit: target.base_commit, from_snapshot: false, reason: null, ...payload }
        return tell([{ type, payload: { ...whole, steps: commands.steps.length, duration_ms } }])
      })

    const fromSnapshot = Effect.gen(function* () {
      if (!(yield* snapshots.take(key, trees))) return Option.none<Base>()
      yield* told("setup.succeeded", { from_snapshot: true })
      return Option.some(target)
    })
    const fromCommands = Effect.gen(function* () {
      const base = yield* makeBase
      yield* told("setup.started", { base_commit: base.base_commit })
      yield* run(row, commands, (events) => Effect.zipRight(tell(events), failpoint("setup.output_told"))).pipe(
        Effect.tapError(({ message }) => told("setup.failed", { base_commit: base.base_commit, reason: message }))
      )
      yield* git.adopt({ ...trees, base: base.base_commit })
      yield* failpoint("setup.ran")
      yield* snapshots.publish(keyOf(base), trees)
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

/** Everything that what a setup leaves depends on. No two workspaces share it, because it may hold their secrets. */
const sameness = (
  { executor: { backend }, project, tree: { repository, sparse }, workspace_id }: SessionRow,
  { environment = [], setup = [], setup_network }: ProjectSpec,
  secretVersions: Readonly<Record<string, number>>,
  { base_commit, base_ref }: Base
) => ({
  format: 1,
  ...{ workspace_id, project_id: project?.id ?? null, repository, base_commit, base_ref },
  ...(sparse !== null && { sparse }),
  ...{ setup, setup_network, environment: environment.filter(isFor("setup")), secretVersions },
  ...{ backend, platform: `${process.platform} ${process.arch}` }
})

/** The commit that the workspace of a session would start from now. The remote is asked with the credential of the session each time. */
const resolving = Effect.gen(function* () {
  const { dataDir } = yield* CoreConfig
  const git = yield* Git
  const gitCredential = yield* gitCredentials

  return Effect.fnUntraced(function* (row: SessionRow) {
    const none: Base = { base_commit: null, base_ref: null }
    if (row.tree.repository === null) return none
    const credential = yield* gitCredential(row)
    const { commit, ref } = yield* git.resolve({
      url: row.tree.repository,
      ref: row.tree.base_commit ?? row.tree.base_ref,
      directory: sessionPaths(dataDir, row.id).root,
      ...(credential && { credential })
    })
    const base: Base = { base_commit: commit, base_ref: row.tree.base_ref ?? ref }
    return base
  })
})

/** The commands of a session's setup, with the executor and the environment that they run in. Nothing of an earlier attempt is left. */
const preparing = Effect.gen(function* () {
  const executors = yield* Executors
  const stores = yield* objectStores
  const environmentOf = yield* projectEnvironment

  return Effect.fnUntraced(function* (row: SessionRow, spec: ProjectSpec, { home, workTree }: Trees) {
    const executor = yield* executors.choose(row.executor.backend, boundsOf(row, spec)).pipe(
      Effect.flatMap(executors.get),
      Effect.mapError(({ message }) => failed(message))
    )
    const { secretVersions, variables } = yield* Effect.mapError(environmentOf(row, spec, "setup"), ({ message }) =>
      failed(message)
    )
    const mark = `setup_${row.id}`
    yield* executor.reap(mark)
    yield* Effect.promise(() => removeTree(home))
    const commands = {
      steps: spec.setup ?? [],
      variables,
      network: spec.setup_network,
      limits: limitsOf(row),
      executor,
      mark,
      // The files are made anew, also for a session that has some.
      objectsDir: yield* (yield* stores).readable({ ...row, tree: { ...row.tree, state: "preparing" } }),
      workspaceDir: workTree,
      homeDir: home,
      // The files that a setup leaves may name its paths, and the agent comes after it.
      ...(executor.ownPaths === true && { seenAt: agentPlaces(row.id) })
    }
    return { commands, secretVersions }
  })
})

/** Runs commands within the time that a setup has, and no longer than their session is there. */
const running = Effect.gen(function* () {
  const sessions = yield* SessionStore
  const run = yield* setupRun
  const places = yield* Effect.makeSemaphore(atOnce)

  /** Fails once a session was closed. A database that is away for a moment closes none. */
  const closed = (row: SessionRow) =>
    Effect.repeat(
      Effect.catchAllDefect(sessions.find(row.id), () => Effect.succeed(row)),
      {
        until: (found) => found === undefined || found.lifecycle === "closed",
        schedule: Schedule.spaced("1 second")
      }
    ).pipe(Effect.zipRight(failed("The session was closed while its workspace was set up.")))

  return (row: SessionRow, commands: Parameters<typeof run>[0], tell: Parameters<typeof run>[1]) =>
    run(commands, tell).pipe(
      Effect.catchAll(({ message }) => failed(message)),
      Effect.timeoutFail({
        duration: setupSeconds * 1000,
        onTimeout: () => failed(`The setup took longer than ${setupSeconds} s in all and was ended.`)
      }),
      Effect.raceFirst(closed(row)),
      Effect.zipRight(Effect.promise(() => removeTree(join(commands.homeDir, temporaryName)))),
      places.withPermits(1)
    )
})
