import { Context, Data, Effect, Layer, Option } from "effect"
import { AgentPool } from "../agents/AgentPool.js"
import type { AgentStart } from "../agents/KeptAgent.js"
import { CoreConfig } from "../base/CoreConfig.js"
import { fn } from "../base/Traced.js"
import { objectStores } from "../bench/ObjectStores.js"
import { agentPlaces } from "../bench/SessionPaths.js"
import { ConnectionStore, type Unopenable } from "../connections/ConnectionStore.js"
import type { Prices } from "../connections/Prices.js"
import type { CredentialId, LeaseId, SessionId } from "../domain/Ids.js"
import type { Executor } from "../executor/Executor.js"
import { Executors } from "../executor/Executors.js"
import { Git } from "../git/Git.js"
import type { GitError } from "../git/GitError.js"
import { Harness } from "../harness/Harness.js"
import { HarnessInstall } from "../harness/Install.js"
import type { Manifest } from "../harness/Manifest.js"
import { Manifests } from "../harness/Manifests.js"
import { allowsAll, type PermissionPolicy } from "../harness/Permissions.js"
import type { TurnRequest } from "../harness/TurnInput.js"
import { Boot } from "../placement/Boot.js"
import { Placements } from "../placement/Placements.js"
import type { ProjectSpec } from "../projects/Project.js"
import { projectEnvironment } from "../projects/ProjectEnvironment.js"
import { Projects } from "../projects/Projects.js"
import { boundsOf, limitsOf } from "../sessions/SessionBounds.js"
import type { SessionRow } from "../sessions/SessionRow.js"
import { SessionStore } from "../sessions/SessionStore.js"
import type { TurnReason } from "../sessions/Turn.js"
import { logDefect } from "../store/FailedStatement.js"
import { Journal } from "../store/Journal.js"
import { Leases } from "../worktrees/Leases.js"
import { ownedCommits } from "../worktrees/OwnedCommits.js"
import { originOf } from "../worktrees/TreeOrders.js"
import { type Beside, WorkingTrees } from "../worktrees/WorkingTrees.js"
import { system } from "./TurnWork.js"

/** The reason that a turn could not be started. A `retryable` refusal is temporary. */
export class TurnRefused extends Data.TaggedError("TurnRefused")<{
  readonly reason: TurnReason
  readonly message: string
  readonly retryable: boolean
}> {}

/** Everything that the agent of a session is started with, and what its turns run with. */
export interface PreparedAgent extends AgentStart, Pick<TurnRequest, "options" | "permissions"> {
  /** The version of the connection's credential that a turn uses; null without a connection. */
  readonly credentialId: CredentialId | null
  /** The prices of the models of the connection as the turn begins. */
  readonly prices: Prices
  /** The cost that the agent had counted before the turn, since its native session began. */
  readonly nativeCost: number | null
}

/** Begins to start an agent, and does not wait for it. */
export type BeginAgent = (start: PreparedAgent) => Effect.Effect<void>

/** Gathers everything that a turn runs with, and checks that the agent's own state is as its last turn left it. */
export class TurnSetup extends Context.Tag("@reins/core/execution/TurnSetup")<
  TurnSetup,
  {
    /** True when the agent of a session is there to be started. */
    readonly isInstalled: (session: SessionRow) => Effect.Effect<boolean>
    /**
     * Makes the lease and the workspace when they are missing, and opens the connection. The caller has the workspace to itself. `begin` begins to
     * start the agent, as `beside` has it.
     */
    readonly prepare: (session: SessionRow, begin: BeginAgent) => Effect.Effect<PreparedAgent, TurnRefused>
    /**
     * Begins to start an agent beside the making of its workspace. What is in the way of that is told by `prepare`, which looks again when the
     * workspace is there.
     */
    readonly beside: (begin: BeginAgent) => Beside
    /**
     * The digest of the agent's own state, which is stored whenever the agent has ended. Null without such a state. No turn goes on from a
     * state that cannot be read. Where another node has the files it is the one that was stored last.
     */
    readonly nativeDigest: (session: SessionRow) => Effect.Effect<string | null>
    /**
     * The same for a session whose worker was lost. It is `liveState` where the files are on another machine: nobody here can tell how far the
     * agent came, and the next turn there goes on from the state as it is.
     */
    readonly stateAfterLoss: (session: SessionRow) => Effect.Effect<string | null>
    /** The digest after a turn, or `liveState` while the agent of the lease is kept. */
    readonly stateAfterTurn: (session: SessionRow, leaseId: string) => Effect.Effect<string | null>
  }
>() {
  static readonly layer = Layer.effect(
    TurnSetup,
    Effect.gen(function* () {
      const readableBy = yield* readables
      const agents = yield* AgentPool
      const trees = yield* WorkingTrees
      const projects = yield* Projects
      const termsOf = yield* terms
      const manifestOf = yield* manifests
      const nativeDigest = yield* digesting
      const store = yield* storing(nativeDigest)
      const withoutForeignAgent = yield* fencing
      const { connectionOf, executorOf, installed, openingOf } = yield* parts

      /** True when the agent can go on with the state that its last turn left. */
      const goesOn = Effect.fnUntraced(function* (session: SessionRow) {
        // The agent that is kept is the witness of its state. One that a crash has ended was doing nothing.
        if (session.native_session_id === null || session.native_digest === liveState) return true
        const digest = yield* nativeDigest(session)
        return digest !== unreadable && digest === session.native_digest
      })

      /** Everything that the agent of a session with a lease runs with. */
      const gather = Effect.fnUntraced(function* (session: SessionRow) {
        const agent = yield* installed(session.provider_id)
        const spec = yield* projects.specOf(session)
        const executor = yield* executorOf(session, spec)
        const seenAt = yield* placesOf(session, executor)
        const [isUnchanged, opened] = yield* Effect.all([goesOn(session), Effect.either(connectionOf(session))], {
          concurrency: 2
        })
        if (!isUnchanged) return yield* contextChanged
        const connection = yield* opened
        const { home, workTree } = trees.paths(session.id)
        const permissions: PermissionPolicy | null =
          session.permissions === null ? null : JSON.parse(session.permissions)
        const manifest = yield* manifestOf(session)
        const prepared: PreparedAgent = {
          manifest,
          installed: agent,
          executor,
          leaseId: yield* leaseOf(session.id, session.lease_id),
          workspaceDir: workTree,
          homeDir: home,
          ...(seenAt && { seenAt }),
          opening: openingOf(manifest, trees.paths(session.id)),
          ...(yield* readableBy(session)),
          connection,
          credentialId: connection?.credentialId ?? null,
          ...(yield* termsOf(session, spec)),
          prices: connection?.prices ?? {},
          nativeCost: session.native_session_id === null ? null : session.native_cost,
          model: session.model,
          ...(session.options !== null && { options: JSON.parse(session.options) }),
          permissions,
          isAnswered: manifest.capabilities.interactive_approval === "supported",
          isGuarded: permissions !== null && !allowsAll(permissions),
          nativeSessionId: session.native_session_id,
          stopped: store(session)
        }
        return prepared
      })

      const beside =
        (begin: BeginAgent): Beside =>
        (session, workspaceMade) =>
          Effect.flatMap(gather(session), (start) => begin({ ...start, workspaceMade })).pipe(
            Effect.catchTag("TurnRefused", () => Effect.void)
          )

      return TurnSetup.of({
        isInstalled: (session) => Effect.isSuccess(installed(session.provider_id)),
        prepare: fn("TurnSetup.prepare")(function* (session, begin) {
          yield* installed(session.provider_id)
          const made = yield* Effect.mapError(trees.prepare(session.id, beside(begin)), workspaceNotMade)
          if (!(yield* trees.isHere(made))) return yield* filesMissing
          return yield* gather(yield* Effect.mapError(withoutForeignAgent(made), workspaceNotMade))
        }),
        beside,
        nativeDigest,
        stateAfterLoss: (session) =>
          Effect.flatMap(trees.isHere(session), (isHere) =>
            isHere ? nativeDigest(session) : Effect.succeed(liveState)
          ),
        stateAfterTurn: (session, leaseId) =>
          Effect.flatMap(agents.isKept(leaseId), (isKept) =>
            isKept ? Effect.succeed(liveState) : nativeDigest(session)
          )
      })
    })
  )
}

/** The directories that the agent of a session may read besides its own. */
const readables = Effect.gen(function* () {
  const { sharedDirectories } = yield* CoreConfig
  const stores = yield* objectStores
  return (session: SessionRow) =>
    Effect.map(
      Effect.flatMap(stores, ({ readable }) => readable(originOf(session), session.workspace_state === "ready")),
      (objectsDir) => ({
        additionalDirectories: sharedDirectories,
        ...(objectsDir !== null && { objectsDir })
      })
    )
})

/** The manifest of the provider of a session. A session with a provider that no manifest declares is a defect. */
const manifests = Effect.map(
  Manifests,
  (manifests) => (session: SessionRow) => Effect.orDie(manifests.get(session.provider_id))
)

/** `TurnSetup.nativeDigest`. */
const digesting = Effect.gen(function* () {
  const harness = yield* Harness
  const trees = yield* WorkingTrees
  const placements = yield* Placements
  const manifestOf = yield* manifests

  return fn("TurnSetup.nativeDigest")(function* (session: SessionRow) {
    // Nobody looks for the files of another node on the own disk: what is known of them stays.
    if ((yield* placements.at(session.id)).kind !== "here") return session.native_digest
    const state = Effect.flatMap(manifestOf(session), (manifest) =>
      harness.nativeState(manifest, trees.paths(session.id).home)
    )
    return yield* Effect.map(state, ({ digest }): string | null => digest).pipe(
      // An agent can make its own files unreadable. The turn has to end all the same.
      Effect.catchAllDefect((defect) =>
        Effect.as(logDefect("the agent's own state cannot be read", defect), unreadable).pipe(
          Effect.annotateLogs({ session_id: session.id })
        )
      )
    )
  })
})

/** Stores the digest of the state that an agent has left which was stopped between its turns. */
const storing = Effect.fnUntraced(function* (nativeDigest: (session: SessionRow) => Effect.Effect<string | null>) {
  const journal = yield* Journal
  const sessions = yield* SessionStore
  const placements = yield* Placements

  return (session: SessionRow) =>
    Effect.gen(function* () {
      const native_digest = yield* nativeDigest(session)
      yield* journal.commit(
        Effect.gen(function* () {
          if (!(yield* placements.holds(session.id))) return
          const row = yield* sessions.lock(session.id)
          // Another agent may work by now, on this server or on another one.
          const isOurs = row?.lease_id === session.lease_id && row.active_turn_id === null
          if (isOurs && row.native_digest === liveState) yield* sessions.change(session.id, { native_digest })
        })
      )
    }).pipe(
      // The state then counts as that of an agent which a crash has ended.
      Effect.catchAllDefect((defect) => logDefect("the state of an agent that was stopped cannot be stored", defect))
    )
})

/**
 * Ends the agent that another process has kept for a session. While that process lives it would end whatever bears the lease when its agent is
 * gone, so the session gets another lease.
 */
const fencing = Effect.gen(function* () {
  const agents = yield* AgentPool
  const { alone } = yield* Boot
  const commit = yield* ownedCommits
  const leases = yield* Leases
  const trees = yield* WorkingTrees

  return Effect.fnUntraced(function* (session: SessionRow) {
    if (session.native_digest !== liveState || (yield* agents.isKept(session.lease_id ?? ""))) return session
    if (alone) return yield* Effect.as(leases.reap(session), session)
    yield* commit(session.id, leases.move(session.id, "quiescing", system, "superseded"))
    return yield* trees.prepare(session.id)
  })
})

/** Tells git what an agent's program writes for itself while it opens its session. A look that fails leaves it in the changeset. */
const watching = Effect.map(
  Git,
  (git) =>
    ({ own_files: own }: Manifest, { gitDir, workTree }: { readonly gitDir: string; readonly workTree: string }) => {
      if (own === undefined) return Effect.succeed(Effect.void)
      const failed = (error: GitError) =>
        Effect.logWarning("the agent's own files could not be told from its work", error.message)
      return git.watchOwnFiles({ gitDir, workTree, settings: own.settings, packages: own.packages ?? [] }).pipe(
        Effect.map((ends) => Effect.catchAll(ends, failed)),
        Effect.catchAll((error) => Effect.as(failed(error), Effect.void))
      )
    }
)

/** The settings that the project of a session has for its agent, and the limits that the session asks for. */
const terms = Effect.gen(function* () {
  const environmentOf = yield* projectEnvironment

  return Effect.fnUntraced(function* (session: SessionRow, spec: ProjectSpec) {
    const { variables } = yield* Effect.mapError(
      environmentOf(session, spec, "agent"),
      ({ message }) => new TurnRefused({ reason: "credential_invalid", message, retryable: false })
    )
    return { network: spec.network, environment: variables, limits: limitsOf(session) }
  })
})

/** The agent, the executor and the connection of a session, or the refusal of its turn. */
const parts = Effect.gen(function* () {
  const connections = yield* ConnectionStore
  const executors = yield* Executors
  const install = yield* HarnessInstall

  return {
    installed: (providerId: string) =>
      Effect.flatMap(
        Effect.mapError(install.find(providerId), () => notThere(providerId)),
        Option.match({ onNone: () => notInstalled(providerId), onSome: Effect.succeed })
      ),
    executorOf: (session: SessionRow, spec: ProjectSpec) =>
      // A server that was started anew may enforce less than when the session was made.
      executors.choose(session.backend, boundsOf(session, spec)).pipe(
        Effect.flatMap(executors.get),
        Effect.mapError(({ message }) => unavailable(message))
      ),
    openingOf: yield* watching,
    connectionOf: (session: SessionRow) =>
      session.connection_id === null
        ? Effect.succeed(null)
        : Effect.mapError(connections.open(session.workspace_id, session.connection_id), connectionRefused)
  }
})

/** The mark of a native session that began at the paths of `agentPlaces`. */
export const fixedPaths = "fixed"

/**
 * The paths at which the agent of a session finds its directories, where its executor has others than those of the machine. A native session
 * keeps those that it began with, because the agent's own state names them.
 */
const placesOf = ({ id, native_paths, native_session_id }: SessionRow, { backend, ownPaths = false }: Executor) => {
  const isFixed = native_session_id === null ? ownPaths : native_paths === fixedPaths
  if (!isFixed) return Effect.succeed(undefined)
  return ownPaths ? Effect.succeed(agentPlaces(id)) : Effect.fail(otherPaths(backend))
}

/** The record is whole, and the session goes on with it where its paths are given. */
const otherPaths = (backend: string) =>
  unavailable(
    `The agent keeps its record of this conversation under the paths of a sandbox, which the executor "${backend}" cannot give it. ` +
      "Release the executor and activate the session in a sandbox again, or create a new session with a summary as its first message."
  )

/** Stands in the place of a digest while the agent lives on between its turns. */
export const liveState = "live"

/** The digest of a state that cannot be read. */
const unreadable = "unreadable"

const leaseOf = (sessionId: SessionId, leaseId: LeaseId | null): Effect.Effect<LeaseId> =>
  leaseId === null ? Effect.dieMessage(`session ${sessionId} has no lease`) : Effect.succeed(leaseId)

const unavailable = (message: string): TurnRefused =>
  new TurnRefused({ reason: "executor_unavailable", message, retryable: false })

/** A provider that was added and is gone again leaves its sessions behind. */
const notThere = (providerId: string): TurnRefused =>
  unavailable(
    `This server has no provider ${providerId} any more. Enable it again, or put its manifest back in the place it came from.`
  )

const notInstalled = (providerId: string): TurnRefused =>
  unavailable(`The agent of ${providerId} is not installed on this server. Run: reins harnesses install ${providerId}`)

/** An agent would begin in an empty directory, and everything that was not captured would look deleted. */
const filesMissing = unavailable(
  "The files of this session are not on this machine. If another machine has them, run the turn there; if they were removed, restore them " +
    "from a backup, or create a new session from a changeset of this one."
)

const workspaceNotMade = (error: GitError): TurnRefused =>
  new TurnRefused({
    reason: error.kind === "quota_exhausted" ? "quota_exhausted" : "executor_unavailable",
    message: `The workspace could not be made. ${error.message}`,
    retryable: mayPass(error)
  })

/** True for temporary failures of a remote. */
export const mayPass = ({ kind }: GitError): boolean => kind === "remote_unavailable" || kind === "timeout"

/** The reason that a turn gives for each refusal of its connection. */
const connectionReasons = {
  not_found: "connection_required",
  connection_revoked: "connection_required",
  connection_required: "connection_required",
  credential_invalid: "credential_invalid"
} as const satisfies Record<Unopenable["code"], TurnReason>

const connectionRefused = (error: Unopenable): TurnRefused =>
  new TurnRefused({ reason: connectionReasons[error.code], message: error.message, retryable: false })

const contextChanged = new TurnRefused({
  reason: "context_unavailable",
  message:
    "The agent's own record of this conversation was changed or lost since its last turn, so it cannot go on with it. " +
    "Create a new session with a summary as its first message.",
  retryable: false
})
