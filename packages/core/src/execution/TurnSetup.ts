import { Context, Data, Effect, Layer } from "effect"
import { Boot } from "../base/Boot.js"
import { fn } from "../base/Traced.js"
import type { AgentOrder, StoppedAgent } from "../bench/AgentOrder.js"
import type { AgentEar, AgentMissing } from "../bench/Agents.js"
import { Bench } from "../bench/Bench.js"
import { ConnectionStore, type Unopenable } from "../connections/ConnectionStore.js"
import type { Prices } from "../connections/Prices.js"
import type { CredentialId, LeaseId } from "../domain/Ids.js"
import type { GitError } from "../git/GitError.js"
import type { Manifest } from "../harness/Manifest.js"
import { Manifests } from "../harness/Manifests.js"
import { allowsAll, type PermissionPolicy } from "../harness/Permissions.js"
import type { TurnRequest } from "../harness/TurnInput.js"
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
import { AgentStateStore } from "../worktrees/AgentStateStore.js"
import { Leases } from "../worktrees/Leases.js"
import { ownedCommits } from "../worktrees/OwnedCommits.js"
import { WorkingTrees } from "../worktrees/WorkingTrees.js"
import type { Beside } from "../worktrees/WorkspacePreparing.js"
import { system } from "./TurnWork.js"

/** The reason that a turn could not be started. A `retryable` refusal is temporary. */
export class TurnRefused extends Data.TaggedError("TurnRefused")<{
  readonly reason: TurnReason
  readonly message: string
  readonly retryable: boolean
}> {}

/** Everything that the agent of a session is started with, and what its turns run with. */
export interface PreparedAgent extends Pick<TurnRequest, "options"> {
  readonly order: AgentOrder
  readonly ear: AgentEar
  readonly manifest: Manifest
  /** The tools that the agent may use without asking people; null for all that its manifest lets it. */
  readonly permissions: PermissionPolicy | null
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
      const { agents } = yield* Bench
      const trees = yield* WorkingTrees
      const nativeDigest = yield* makeDigest
      const gather = yield* gathering(nativeDigest)
      yield* agents.onStopped(yield* makeStoreDigest(nativeDigest))
      const withoutForeignAgent = yield* makeFence
      const installed = (provider: string) =>
        Effect.mapError(agents.find({ provider, executor: null }), (error) => notThere(provider, error))

      const beside =
        (begin: BeginAgent): Beside =>
        (session, made) =>
          Effect.flatMap(gather(session), (start) => begin({ ...start, ear: { made } })).pipe(
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

/** Gives everything that the agent of a session with a lease runs with. */
const gathering = Effect.fnUntraced(function* (nativeDigest: (session: SessionRow) => Effect.Effect<string | null>) {
  const { agents } = yield* Bench
  const projects = yield* Projects
  const termsOf = yield* terms
  const manifestOf = yield* manifests
  const connectionOf = yield* connections

  /** True when the agent can go on with the state that its last turn left. */
  const goesOn = Effect.fnUntraced(function* (session: SessionRow) {
    // The agent that is kept is the witness of its state. One that a crash has ended was doing nothing.
    if (session.agent.native_session_id === null || session.agent.native_digest === liveState) return true
    const digest = yield* nativeDigest(session)
    return digest !== unreadable && digest === session.agent.native_digest
  })

  return Effect.fnUntraced(function* (session: SessionRow) {
    const spec = yield* projects.specOf(session)
    const {
      executor: { backend },
      provider_id: provider
    } = session
    const { ownPaths } = yield* agents
      .find({ provider, executor: { backend, bounds: boundsOf(session, spec) } })
      .pipe(Effect.mapError((error) => notThere(provider, error)))
    const isFixed = yield* placesOf(session, ownPaths)
    const [isUnchanged, opened] = yield* Effect.all([goesOn(session), Effect.either(connectionOf(session))], {
      concurrency: 2
    })
    if (!isUnchanged) return yield* contextChanged
    const connection = yield* opened
    const permissions: PermissionPolicy | null = session.permissions === null ? null : JSON.parse(session.permissions)
    const manifest = yield* manifestOf(session)
    const order: AgentOrder = {
      session: session.id,
      workspace: session.workspace_id,
      repository: session.tree.repository,
      isMade: session.tree.state === "ready",
      lease: yield* leaseOf(session),
      provider,
      backend,
      isFixed,
      connection: connection && {
        kind: connection.kind,
        settings: connection.settings,
        secrets: connection.secrets
      },
      ...(yield* termsOf(session, spec)),
      model: session.model,
      isAnswered: manifest.capabilities.interactive_approval === "supported",
      isGuarded: permissions !== null && !allowsAll(permissions),
      native_session: session.agent.native_session_id
    }
    const prepared: PreparedAgent = {
      order,
      ear: {},
      manifest,
      credentialId: connection?.credentialId ?? null,
      prices: connection?.prices ?? {},
      nativeCost: session.agent.native_session_id === null ? null : session.agent.native_cost,
      ...(session.options !== null && { options: JSON.parse(session.options) }),
      permissions
    }
    return prepared
  })
})

/** The manifest of the provider of a session. A session with a provider that no manifest declares is a defect. */
const manifests = Effect.map(
  Manifests,
  (manifests) => (session: SessionRow) => Effect.orDie(manifests.get(session.provider_id))
)

/** `TurnSetup.nativeDigest`. */
const makeDigest = Effect.gen(function* () {
  const { agents } = yield* Bench
  const placements = yield* Placements

  return fn("TurnSetup.nativeDigest")(function* (session: SessionRow) {
    // Nobody looks for the files of another node on the own disk: what is known of them stays.
    if ((yield* placements.at(session.id)).kind !== "here") return session.agent.native_digest
    return yield* agents.state(session.id, session.provider_id).pipe(
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
const makeStoreDigest = Effect.fnUntraced(function* (
  nativeDigest: (session: SessionRow) => Effect.Effect<string | null>
) {
  const journal = yield* Journal
  const sessions = yield* SessionStore
  const states = yield* AgentStateStore
  const placements = yield* Placements

  return (agent: StoppedAgent) =>
    Effect.gen(function* () {
      const session = yield* sessions.find(agent.session)
      if (session === undefined) return
      const native_digest = yield* nativeDigest({ ...session, provider_id: agent.provider })
      yield* journal.commit(
        Effect.gen(function* () {
          if (!(yield* placements.holds(agent.session))) return
          const row = yield* sessions.lock(agent.session)
          // Another agent may work by now, on this server or on another one.
          if (row === undefined || row.turns.active !== null) return
          const isOurs = row.executor.lease?.id === agent.lease
          if (isOurs && row.agent.native_digest === liveState) yield* states.change(agent.session, { native_digest })
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
const makeFence = Effect.gen(function* () {
  const { agents } = yield* Bench
  const { alone } = yield* Boot
  const commit = yield* ownedCommits
  const leases = yield* Leases
  const trees = yield* WorkingTrees

  return Effect.fnUntraced(function* (session: SessionRow) {
    if (session.agent.native_digest !== liveState || (yield* agents.isKept(session.executor.lease?.id ?? "")))
      return session
    if (alone) return yield* Effect.as(leases.reap(session), session)
    yield* commit(session.id, leases.move(session.id, "quiescing", system, "superseded"))
    return yield* trees.prepare(session.id)
  })
})

/** The settings that the project of a session has for its agent, and the limits that the session asks for. */
const terms = Effect.gen(function* () {
  const environmentOf = yield* projectEnvironment

  return Effect.fnUntraced(function* (session: SessionRow, spec: ProjectSpec) {
    const { variables } = yield* Effect.mapError(
      environmentOf(session, spec, "agent"),
      ({ message }) => new TurnRefused({ reason: "credential_invalid", message, retryable: false })
    )
    const limits = limitsOf(session)
    return {
      ...(spec.network !== undefined && { network: spec.network }),
      environment: variables,
      ...(limits && { limits })
    }
  })
})

/** The open connection of a session, or the refusal of its turn. */
const connections = Effect.map(
  ConnectionStore,
  (connections) => (session: SessionRow) =>
    session.connection_id === null
      ? Effect.succeed(null)
      : Effect.mapError(connections.open(session.workspace_id, session.connection_id), connectionRefused)
)

/** The mark of a native session that began at the paths of `agentPlaces`. */
export const fixedPaths = "fixed"

/**
 * True for an agent that finds its directories at the paths of `agentPlaces`, because its executor has others than those of the machine. A native
 * session keeps those that it began with, because the agent's own state names them.
 */
const placesOf = ({ agent, executor }: SessionRow, ownPaths: boolean) => {
  const isFixed = agent.native_session_id === null ? ownPaths : agent.native_paths === fixedPaths
  return isFixed && !ownPaths ? Effect.fail(otherPaths(executor.backend)) : Effect.succeed(isFixed)
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

const leaseOf = ({ executor: { lease }, id }: SessionRow): Effect.Effect<LeaseId> =>
  lease === null ? Effect.dieMessage(`session ${id} has no lease`) : Effect.succeed(lease.id)

const unavailable = (message: string): TurnRefused =>
  new TurnRefused({ reason: "executor_unavailable", message, retryable: false })

/** The refusal for an agent that cannot run here. A provider that was added and is gone again leaves its sessions behind. */
const notThere = (providerId: string, { message, reason }: AgentMissing): TurnRefused => {
  if (reason === "no_executor") return unavailable(message)
  return reason === "no_provider"
    ? unavailable(
        `This server has no provider ${providerId} any more. Enable it again, or put its manifest back in the place it came from.`
      )
    : unavailable(
        `The agent of ${providerId} is not installed on this server. Run: reins harnesses install ${providerId}`
      )
}

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
