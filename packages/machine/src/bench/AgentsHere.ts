import { CoreConfig } from "@reins/base/base/CoreConfig"
import { Effect, Option, Stream } from "effect"
import { AgentPool } from "../agents/AgentPool.js"
import type { AgentStart } from "../agents/KeptAgent.js"
import { Executors } from "../executor/Executors.js"
import { Git } from "../git/Git.js"
import { Harness } from "../harness/Harness.js"
import { HarnessFailure } from "../harness/HarnessEvent.js"
import { HarnessInstall } from "../harness/Install.js"
import type { Manifest } from "../harness/Manifest.js"
import { Manifests } from "../harness/Manifests.js"
import type { Word } from "../harness/TurnInput.js"
import { knowingHeld } from "../relay/gateway/ModelCall.js"
import { subjectFiles } from "../subjects/SubjectFiles.js"
import type { AgentOrder, SaidWord, StoppedAgent, TurnOrder } from "./AgentOrder.js"
import { type AgentEar, AgentMissing, type Agents, type TurnEar } from "./Agents.js"
import { readRecord } from "./NativeRecord.js"
import { objectStores } from "./ObjectStores.js"
import { agentPlaces, type SessionPaths, sessionPaths } from "./SessionPaths.js"
import * as TurnPrompt from "./TurnPrompt.js"

/** The agents of the sessions of this machine. */
export const agentsHere = Effect.gen(function* () {
  const { dataDir } = yield* CoreConfig
  const pool = yield* AgentPool
  const executors = yield* Executors
  const harness = yield* Harness
  const programs = yield* installed
  const manifestOf = yield* manifests
  const startOf = yield* makeStart
  const pooled = yield* makeTurn
  let hear: (agent: StoppedAgent) => Effect.Effect<void> = () => Effect.void
  const stopped = (agent: StoppedAgent) => Effect.suspend(() => hear(agent))
  /** Whatever is in the way is left to the turn. */
  const started = (order: AgentOrder, ear: AgentEar) => Effect.option(startOf(order, ear, stopped))

  const agents: Agents = {
    find: Effect.fnUntraced(function* ({ executor, provider }) {
      yield* programs.require(provider)
      if (executor === null) return { ownPaths: false }
      // A server that was started anew may enforce less than when the session was made.
      const { ownPaths = false } = yield* executors.choose(executor.backend, executor.bounds).pipe(
        Effect.flatMap(executors.get),
        Effect.mapError(({ message }) => new AgentMissing({ reason: "no_executor", message }))
      )
      return { ownPaths }
    }),
    hasRoom: pool.hasRoom,
    open: (order, ear) =>
      Effect.flatMap(
        started(order, ear),
        Option.match({ onNone: () => Effect.succeed(Effect.void), onSome: pool.prepare })
      ),
    reserve: (order, ear) =>
      Effect.flatMap(started(order, ear), Option.match({ onNone: () => Effect.void, onSome: pool.reserve })),
    run: (order, ear) =>
      Stream.unwrap(
        Effect.map(
          Effect.flatMap(startOf(order.agent, ear, stopped), (start) => pooled(start, order, ear)),
          pool.run
        )
      ),
    isKept: pool.isKept,
    stop: pool.stop,
    dismiss: pool.dismiss,
    reap: Effect.fnUntraced(function* (lease, backend) {
      yield* pool.stop(lease)
      const executor = yield* Effect.option(executors.get(backend))
      return Option.isNone(executor) ? 0 : (yield* executor.value.reap(lease)).length
    }),
    state: (session, provider) =>
      Effect.flatMap(manifestOf(provider), (manifest) =>
        Effect.map(harness.nativeState(manifest, sessionPaths(dataDir, session).home), ({ digest }) => digest)
      ),
    record: (session, provider, maxBytes) =>
      Effect.flatMap(manifestOf(provider), (manifest) =>
        readRecord(harness, manifest, sessionPaths(dataDir, session).home, maxBytes)
      ),
    onStopped: (next) =>
      Effect.sync(() => {
        hear = next
      })
  }
  return agents
})

/** The programs of agents that are on this machine. */
const installed = Effect.map(HarnessInstall, (install) => {
  const require = (provider: string) =>
    Effect.flatMap(
      Effect.mapError(install.find(provider), () => new AgentMissing({ reason: "no_provider", message: "" })),
      Option.match({
        onNone: () => Effect.fail(new AgentMissing({ reason: "not_installed", message: "" })),
        onSome: Effect.succeed
      })
    )
  return { require }
})

/** The manifest of a provider. One that no manifest declares is a defect. */
const manifests = Effect.map(Manifests, (manifests) => (provider: string) => Effect.orDie(manifests.get(provider)))

const cannotStart = ({ message, reason }: AgentMissing, provider: string): HarnessFailure =>
  new HarnessFailure({
    reason: "executor_unavailable",
    message: reason === "no_executor" ? message : `The agent of ${provider} is not on this machine any more.`,
    retryable: false
  })

/** Makes the start of an agent of an order. */
const makeStart = Effect.gen(function* () {
  const { dataDir, sharedDirectories } = yield* CoreConfig
  const executors = yield* Executors
  const programs = yield* installed
  const manifestOf = yield* manifests
  const stores = yield* objectStores
  const watch = yield* makeWatch
  const filesOf = yield* subjectFiles

  return Effect.fnUntraced(function* (
    order: AgentOrder,
    ear: AgentEar,
    stopped: (agent: StoppedAgent) => Effect.Effect<void>
  ) {
    const { lease, provider, session } = order
    const program = yield* Effect.mapError(programs.require(provider), (error) => cannotStart(error, provider))
    const executor = yield* Effect.mapError(executors.get(order.backend), ({ message }) =>
      cannotStart(new AgentMissing({ reason: "no_executor", message }), provider)
    )
    const manifest = yield* manifestOf(provider)
    const objectsDir = yield* (yield* stores).readable(order, order.isMade)
    const paths = sessionPaths(dataDir, session)
    const start: AgentStart = {
      manifest,
      installed: program,
      executor,
      leaseId: lease,
      workspaceDir: paths.workTree,
      homeDir: paths.home,
      ...(order.isFixed && { seenAt: agentPlaces(session) }),
      ...(ear.made && { workspaceMade: ear.made }),
      opening: watch(manifest, paths),
      files: yield* filesOf({
        workTree: paths.workTree,
        above: dataDir,
        sandboxed: agentPlaces(session).workspaceDir
      }),
      additionalDirectories: sharedDirectories,
      ...(objectsDir !== null && { objectsDir }),
      connection: order.connection,
      network: order.network,
      environment: order.environment,
      limits: order.limits,
      model: order.model,
      isAnswered: order.isAnswered,
      isGuarded: order.isGuarded,
      ...(order.tools && { tools: order.tools }),
      ...(order.guidance !== undefined && ear.guidance && { guidance: { digest: order.guidance, read: ear.guidance } }),
      nativeSessionId: order.native_session,
      stopped: stopped({ session, lease, provider })
    }
    return start
  })
})

/** Makes the turn of an agent of an order. The questions of the agent and its words go through the ear. */
const makeTurn = Effect.map(TurnPrompt.make, (promptOf) =>
  Effect.fnUntraced(function* (start: AgentStart, order: TurnOrder, ear: TurnEar) {
    const { followUp, nextWord, settle = () => Effect.void } = ear
    const toWord = ({ id, kind, prompt }: SaidWord): Effect.Effect<Word> =>
      Effect.map(promptOf(start, prompt), (blocks) => ({
        kind,
        prompt: blocks,
        settle: (outcome) => settle(id, outcome)
      }))
    return {
      ...start,
      prompt: yield* promptOf(start, order.prompt),
      ...(order.options && { options: order.options }),
      permissions: order.permissions,
      deadline: order.deadline_ms,
      beforePrompt: ear.began,
      cancel: ear.cancelled,
      ...(ear.cutOff && { cutOff: ear.cutOff }),
      ...(ear.calls && knowingHeld(ear.calls)),
      ...(ear.callTool && { callTool: ear.callTool }),
      ...(ear.answer && { ask: ear.answer }),
      ...(followUp && {
        followUp: Effect.flatMap(followUp, (parts) =>
          parts === null ? Effect.succeed(undefined) : promptOf(start, parts)
        )
      }),
      ...(nextWord && { nextWord: Effect.flatMap(nextWord, toWord) })
    }
  })
)

/** Tells git what an agent's program writes for itself while it opens its session. A look that fails leaves it in the changeset. */
const makeWatch = Effect.map(Git, (git) => ({ own_files: own }: Manifest, { gitDir, workTree }: SessionPaths) => {
  if (own === undefined) return Effect.succeed(Effect.void)
  const failed = ({ message }: { readonly message: string }) =>
    Effect.logWarning("the agent's own files could not be told from its work", message)
  return git.watchOwnFiles({ gitDir, workTree, settings: own.settings, packages: own.packages ?? [] }).pipe(
    Effect.map((ends) => Effect.catchAll(ends, failed)),
    Effect.catchAll((error) => Effect.as(failed(error), Effect.void))
  )
})
