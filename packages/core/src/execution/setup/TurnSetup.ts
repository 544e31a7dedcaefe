import { canonicalJson, digestOf } from "@reins/base/base/CanonicalJson"
import { fn } from "@reins/base/base/Traced"
import type { CredentialId, LeaseId } from "@reins/base/domain/Ids"
import type { AgentOrder } from "@reins/machine/bench/AgentOrder"
import type { AgentEar } from "@reins/machine/bench/Agents"
import { Bench } from "@reins/machine/bench/Bench"
import type { Manifest } from "@reins/machine/harness/Manifest"
import { allowsAll, type PermissionPolicy } from "@reins/machine/harness/Permissions"
import type { TurnRequest } from "@reins/machine/harness/TurnInput"
import { Context, Effect, Layer } from "effect"
import { Providers } from "../../catalog/Providers.js"
import type { Prices } from "../../connections/Prices.js"
import type { ProjectSpec } from "../../projects/Project.js"
import { Projects } from "../../projects/Projects.js"
import { Skills } from "../../projects/Skills.js"
import { boundsOf } from "../../sessions/creation/SessionBounds.js"
import type { SessionRow } from "../../sessions/rows/SessionRow.js"
import { ToolSources } from "../../tools/ToolSources.js"
import { WorkingTrees } from "../../worktrees/WorkingTrees.js"
import type { Beside } from "../../worktrees/WorkspacePreparing.js"
import { liveState, makeDigest, makeStoreDigest, unreadableState } from "./AgentDigest.js"
import { connections, terms } from "./AgentTerms.js"
import { makeFence } from "./ForeignAgent.js"
import { contextChanged, filesMissing, notThere, otherPaths, type TurnRefused, treeNotMade } from "./TurnRefused.js"

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
          Effect.flatMap(gather(session), (start) => begin({ ...start, ear: { ...start.ear, made } })).pipe(
            Effect.catchTag("TurnRefused", () => Effect.void)
          )

      return TurnSetup.of({
        isInstalled: (session) => Effect.isSuccess(installed(session.provider_id)),
        prepare: fn("TurnSetup.prepare")(function* (session, begin) {
          yield* installed(session.provider_id)
          const made = yield* Effect.mapError(trees.prepare(session.id, beside(begin)), treeNotMade)
          if (!(yield* trees.isHere(made))) return yield* filesMissing
          return yield* gather(yield* Effect.mapError(withoutForeignAgent(made), treeNotMade))
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
  const tools = yield* ToolSources
  const skills = yield* Skills

  /** The instructions and skills of the project, which are read when an agent starts. */
  const guidanceOf = ({ project }: SessionRow, { instructions, skills: pins }: ProjectSpec) => {
    if (project === null || (instructions === undefined && pins === undefined)) return undefined
    return {
      digest: digestOf(canonicalJson([instructions, pins])),
      read: skills.guidanceOf(project.id, { instructions: instructions ?? null, skills: pins ?? [] })
    }
  }

  /** True when the agent can go on with the state that its last turn left. */
  const goesOn = Effect.fnUntraced(function* (session: SessionRow) {
    // The agent that is kept is the witness of its state. One that a crash has ended was doing nothing.
    if (session.agent.native_session_id === null || session.agent.native_digest === liveState) return true
    const digest = yield* nativeDigest(session)
    return digest !== unreadableState && digest === session.agent.native_digest
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
    const offer = yield* tools.offerOf(session)
    const guidance = guidanceOf(session, spec)
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
      ...(offer && { tools: offer }),
      ...(guidance && { guidance: guidance.digest }),
      native_session: session.agent.native_session_id
    }
    const prepared: PreparedAgent = {
      order,
      ear: guidance === undefined ? {} : { guidance: guidance.read },
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
  Providers,
  (providers) => (session: SessionRow) =>
    Effect.flatMap(providers.known(session.provider_id), (manifest) =>
      manifest === undefined
        ? Effect.dieMessage(`no manifest declares ${session.provider_id}`)
        : Effect.succeed(manifest)
    )
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

const leaseOf = ({ executor: { lease }, id }: SessionRow): Effect.Effect<LeaseId> =>
  lease === null ? Effect.dieMessage(`session ${id} has no lease`) : Effect.succeed(lease.id)
