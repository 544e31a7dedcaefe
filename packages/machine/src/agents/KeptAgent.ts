import { createHash } from "node:crypto"
import type { NetworkAccess } from "@reins/base/domain/NetworkAccess"
import { Clock, Deferred, Effect, ExecutionStrategy, Exit, Fiber, Redacted, Ref, Scope } from "effect"
import type { Harness } from "../harness/Harness.js"
import type { Agent } from "../harness/HarnessDriver.js"
import type { HarnessEvent, HarnessFailure } from "../harness/HarnessEvent.js"
import type { AgentInput } from "../harness/TurnInput.js"
import { destinationsOf, withGateway } from "../outbound/NetworkRules.js"
import type { WayOut } from "../outbound/WayOut.js"
import type { CredentialProxy, Lent } from "../relay/gateway/CredentialProxy.js"
import type { CallObserver } from "../relay/gateway/ModelCall.js"
import type { LentTools, ToolLoans } from "../relay/mcp/ToolLoans.js"
import type { CallTool, ToolOffer } from "../relay/mcp/ToolOffer.js"
import { workspaceNews } from "./WorkspaceNews.js"

/** The start of an agent that may be kept between its turns. */
export interface AgentStart extends Omit<AgentInput, "passage"> {
  /** The hosts that the project lets the agent connect to; undefined where it says nothing. */
  readonly network: NetworkAccess | undefined
  /** The tools of the service that the agent is told of; none where it is absent. */
  readonly tools?: ToolOffer
  /** Runs once the agent was stopped between its turns, before anybody goes on from the state that it left. */
  readonly stopped: Effect.Effect<void>
}

/** An agent that has started, with the effect that ends what its turn has left running. */
export interface Started {
  readonly agent: Agent
  /** Undefined for an agent that has to be stopped after each turn. */
  readonly endLater: Effect.Effect<unknown> | undefined
}

/** The agent of a lease, from the start of its process to its end. */
export interface KeptAgent {
  readonly leaseId: string
  readonly providerId: string
  readonly fingerprint: string
  readonly opened: Deferred.Deferred<Started, HarnessFailure>
  /** Done when no process of the agent is left. */
  readonly ended: Deferred.Deferred<void>
  /** Makes the agent's token good for the key of the connection, until the scope closes. The observer watches the model calls meanwhile. */
  readonly lend: (
    connection: AgentInput["connection"],
    observer: CallObserver | undefined
  ) => Effect.Effect<void, never, Scope.Scope>
  /** Answers the calls of the agent's tools until the scope closes. */
  readonly openTools: (call: CallTool) => Effect.Effect<void, never, Scope.Scope>
  /** Ends what the agent has connected by its way out, which leads nowhere from then on. */
  readonly closeWay: Effect.Effect<void>
  /** True once for an agent that has tools and has not asked for them. */
  readonly lacksTools: Effect.Effect<boolean>
  /** As `workspaceNews`. */
  readonly news: Effect.Effect<ReadonlyArray<HarnessEvent>>
  /** Stops the agent and leaves no process of it. */
  readonly stop: Effect.Effect<void>
  /** `busy` belongs to a turn, `reserved` to one that will take it, `idle` to the pool, and nobody may use one that is `ending`. */
  state: "idle" | "reserved" | "busy" | "ending"
  /** True when the agent can run no further turn. */
  isGone: boolean
  idleSince: number
  /** The native session that the next turn has to name. Null for an agent that has not worked yet and began a new one. */
  nativeSessionId: string | null
  stopped: Effect.Effect<void>
}

/**
 * All that an agent is started with. An agent serves only turns with the same fingerprint. The key of its connection is left out, because the
 * agent never has it.
 */
export const startFingerprint = (input: AgentStart): string => {
  const { connection, executor, homeDir, installed, leaseId, manifest, model, network, workspaceDir } = input
  const secrets = Object.entries(connection?.secrets ?? {}).map(([name, secret]) => [
    name,
    name === "api_key" ? "" : Redacted.value(secret)
  ])
  const variables = Object.entries(input.environment ?? {}).map(([name, value]) => [
    name,
    Redacted.isRedacted(value) ? Redacted.value(value) : value
  ])
  const servers = (input.toolServers ?? []).map(({ name, token, url }) => [name, url, Redacted.value(token)])
  const asked = [
    input.isAnswered === true,
    input.isGuarded === true,
    variables,
    input.limits,
    servers,
    input.tools ?? null,
    input.guidance?.digest ?? null,
    input.additionalDirectories,
    input.objectsDir
  ]
  const places = [workspaceDir, homeDir, input.seenAt]
  const parts = [manifest, installed, executor.backend, leaseId, places, model, network ?? null, asked]
  return createHash("sha256")
    .update(JSON.stringify([...parts, connection?.kind, connection?.settings, secrets]))
    .digest("hex")
}

/** True when the agent can go on with a turn. */
export const fits = (kept: KeptAgent, input: AgentStart): boolean =>
  !kept.isGone && kept.nativeSessionId === input.nativeSessionId && kept.fingerprint === startFingerprint(input)

/** The places of an agent; undefined where it needs no way out. One that connects by itself finds none where the proxy of the operator is the only one. */
const placesOf = (network: NetworkAccess | undefined, executor: AgentInput["executor"], wayOut: WayOut["Type"]) => {
  const isShared = executor.isolation.network === "shared"
  const access = network ?? (wayOut.isOnlyWay && isShared ? "open" : undefined)
  return access === undefined ? undefined : destinationsOf(access)
}

const lackOf = (tools: LentTools): Effect.Effect<Effect.Effect<boolean>> =>
  Effect.map(Ref.make(false), (isTold) =>
    Effect.flatMap(tools.wereListed, (wereListed) =>
      wereListed ? Effect.succeed(false) : Effect.map(Ref.getAndSet(isTold, true), (wasTold) => !wasTold)
    )
  )

/** The services that the start of an agent needs. */
export interface Lenders {
  readonly harness: Harness["Type"]
  readonly credentials: CredentialProxy["Type"]
  readonly toolLoans: ToolLoans["Type"]
  readonly wayOut: WayOut["Type"]
}

/** Starts agents, in fibers of their own. The result of the start is in `opened`. */
export const makeStart = ({ credentials, harness, toolLoans, wayOut }: Lenders) =>
  Effect.fnUntraced(function* (input: AgentStart, state: "idle" | "reserved" | "busy") {
    const scope = yield* Scope.make()
    const lent: Lent | undefined =
      input.connection === null ? undefined : yield* Scope.extend(credentials.lend(input.connection), scope)
    const tools: LentTools | undefined =
      input.tools === undefined ? undefined : yield* Scope.extend(toolLoans.lend(input.tools), scope)
    const toolServers = [...(input.toolServers ?? []), ...(tools?.servers ?? [])]
    const allowed = placesOf(input.network, input.executor, wayOut)
    // An agent that no relay serves would reach no model where its executor keeps it from the network.
    const own = input.executor.isolation.network === "restricted" ? lent?.gateway : undefined
    const destinations = own === undefined ? allowed : withGateway(own, allowed)
    const way = yield* Scope.fork(scope, ExecutionStrategy.sequential)
    const passage = destinations === undefined ? undefined : yield* Scope.extend(wayOut.open(destinations), way)
    const opened = yield* Deferred.make<Started, HarnessFailure>()
    const open = Effect.gen(function* () {
      const connection = lent?.connection ?? null
      const agent = yield* harness.open({ ...input, connection, toolServers, ...(passage && { passage }) })
      // The processes that are there by now are the agent's own.
      const later = agent.endLaterProcesses && (yield* agent.endLaterProcesses)
      // A way out is good for one turn, and it is open as long as the process.
      const started: Started = { agent, endLater: passage === undefined ? later : undefined }
      return started
    })
    // A fiber takes over that it cannot be interrupted, as where a turn takes its agent.
    const start = yield* Effect.forkDaemon(Effect.intoDeferred(Effect.interruptible(Scope.extend(open, scope)), opened))
    const kept: KeptAgent = {
      leaseId: input.leaseId,
      providerId: input.manifest.provider_id,
      fingerprint: startFingerprint(input),
      opened,
      ended: yield* Deferred.make<void>(),
      lend: (connection, observer) =>
        lent === undefined || connection === null ? Effect.void : lent.open(connection, observer),
      openTools: (call) => tools?.open(call) ?? Effect.void,
      closeWay: Scope.close(way, Exit.void),
      lacksTools: tools === undefined ? Effect.succeed(false) : yield* lackOf(tools),
      news: yield* workspaceNews(input),
      stop: Effect.zipRight(Fiber.interrupt(start), Scope.close(scope, Exit.void)),
      state,
      isGone: false,
      idleSince: yield* Clock.currentTimeMillis,
      nativeSessionId: input.nativeSessionId,
      stopped: input.stopped
    }
    return kept
  })
