import { CoreConfig } from "@reins/base/base/CoreConfig"
import { Observer } from "@reins/base/base/Observer"
import { Clock, Deferred, Effect, Runtime } from "effect"
import { Harness } from "../harness/Harness.js"
import { WayOut } from "../outbound/WayOut.js"
import { CredentialProxy } from "../relay/gateway/CredentialProxy.js"
import { ToolLoans } from "../relay/mcp/ToolLoans.js"
import { type AgentStart, fits, type KeptAgent, makeStart } from "./KeptAgent.js"

/** The agents of this process by lease, with the moves between their states. */
export const keptAgents = Effect.gen(function* () {
  const observer = yield* Observer
  const start = makeStart({
    harness: yield* Harness,
    credentials: yield* CredentialProxy,
    toolLoans: yield* ToolLoans,
    wayOut: yield* WayOut
  })
  const agents = new Map<string, KeptAgent>()
  const ends = yield* makeEnd(agents)
  const { dismiss, hasRoom, stop, tell, trim } = ends
  const fork = yield* makeFork
  const oneByOne = (yield* Effect.makeSemaphore(1)).withPermits(1)

  const begin = Effect.fnUntraced(
    function* (input: AgentStart, state: "idle" | "reserved" | "busy") {
      const found = agents.get(input.leaseId)
      if (found !== undefined) return undefined
      const agent = yield* start(input, state)
      agents.set(input.leaseId, agent)
      const gone = Effect.flatMap(Deferred.await(agent.opened), (opened) => opened.agent.gone)
      const forget = Effect.suspend(() => {
        agent.isGone = true
        return dismiss(agent)
      })
      fork(Effect.zipRight(Effect.exit(gone), forget))
      return agent
      // One that nobody knows of would never be stopped.
    },
    Effect.uninterruptible,
    oneByOne
  )

  return {
    ...ends,
    find: (leaseId: string) => agents.get(leaseId),
    /** Gives the agent for a turn, which is then busy: the one that is kept if it fits, else a new one once the other is gone. */
    take: Effect.fnUntraced(function* (input: AgentStart) {
      while (true) {
        const agent = agents.get(input.leaseId)
        if (agent === undefined) {
          const begun = yield* begin(input, "busy")
          if (begun === undefined) continue
          yield* observer.agentTaken(input.manifest.provider_id, "cold")
          return begun
        }
        if (agent.state === "busy") return yield* Effect.dieMessage(`lease ${input.leaseId} runs a turn already`)
        if (agent.state !== "ending" && fits(agent, input)) {
          yield* observer.agentTaken(input.manifest.provider_id, agent.state === "reserved" ? "cold" : "warm")
          agent.state = "busy"
          yield* tell
          return agent
        }
        yield* stop(agent)
      }
    }),
    /** Keeps an agent that has completed a turn. One that has ended meanwhile is stopped like any other. */
    giveBack: Effect.fnUntraced(function* (agent: KeptAgent, { stopped }: AgentStart, nativeSessionId: string) {
      agent.idleSince = yield* Clock.currentTimeMillis
      agent.stopped = stopped
      agent.nativeSessionId = nativeSessionId
      agent.state = "idle"
      yield* agent.isGone ? stop(agent) : trim
      yield* tell
    }),
    /** `AgentPool.prepare` */
    prepare: Effect.fnUntraced(function* (input: AgentStart) {
      if ((yield* hasRoom) && (yield* begin(input, "idle")) !== undefined) yield* tell
      const agent = agents.get(input.leaseId)
      return agent === undefined ? Effect.void : Effect.asVoid(Effect.exit(Deferred.await(agent.opened)))
    }),
    /** `AgentPool.reserve` */
    reserve: (input: AgentStart) =>
      Effect.acquireRelease(begin(input, "reserved"), (agent) =>
        agent?.state === "reserved" ? stop(agent) : Effect.void
      ).pipe(Effect.asVoid)
  }
})

/** Forks what outlives the fiber that asks for it, and must not inherit its transaction. */
const makeFork = Effect.map(Effect.runtime<never>(), (runtime) => Runtime.runFork(runtime))

/** The ways in which agents are stopped. */
const makeEnd = Effect.fnUntraced(function* (agents: Map<string, KeptAgent>) {
  const { agentFreeMemory, agentIdleMs, maxIdleAgents } = yield* CoreConfig
  const observer = yield* Observer
  const fork = yield* makeFork

  const idle = (): ReadonlyArray<KeptAgent> =>
    [...agents.values()].filter(({ state }) => state === "idle").sort((a, b) => a.idleSince - b.idleSince)
  const tell = Effect.suspend(() => observer.agentsKept(idle().length))
  const isShort = () => process.availableMemory() < agentFreeMemory
  /** `AgentPool.hasRoom` */
  const hasRoom = Effect.sync(() => agentIdleMs > 0 && idle().length < maxIdleAgents && !isShort())

  /** Stops an agent that no turn can take any more. */
  const end = (agent: KeptAgent, afterwards: Effect.Effect<void>) =>
    Effect.suspend(() => {
      agent.state = "ending"
      return agent.stop
    }).pipe(
      Effect.zipRight(afterwards),
      Effect.ensuring(Effect.sync(() => agents.delete(agent.leaseId))),
      Effect.ensuring(Deferred.succeed(agent.ended, undefined)),
      Effect.zipRight(tell),
      Effect.uninterruptible
    )

  /** Begins to stop an agent unless it works. Its state changes at once, so no turn takes it any more. */
  const dismiss = (agent: KeptAgent | undefined): Effect.Effect<void> =>
    Effect.sync(() => {
      if (agent === undefined || agent.state === "busy" || agent.state === "ending") return
      agent.state = "ending"
      fork(Effect.zipRight(end(agent, agent.stopped), trim))
    })

  /** Stops an agent unless it works, and waits until it is gone. */
  const stop = (agent: KeptAgent | undefined): Effect.Effect<void> =>
    Effect.suspend(() =>
      agent === undefined || agent.state === "busy"
        ? Effect.void
        : Effect.zipRight(dismiss(agent), Deferred.await(agent.ended))
    )

  /** Stops the agents that are idle for too long or too many, and the one that was used least recently while memory is short. */
  const trim: Effect.Effect<void> = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const found = idle()
    const tooMany = found.length - maxIdleAgents
    const leastRecent = isShort() ? 1 : 0
    const leaving = found.filter(
      ({ idleSince }, index) => now - idleSince >= agentIdleMs || index < Math.max(tooMany, leastRecent)
    )
    yield* Effect.forEach(leaving, dismiss, { discard: true })
  })

  return {
    end,
    dismiss,
    hasRoom,
    stop,
    tell,
    trim,
    stopAll: Effect.suspend(() =>
      Effect.forEach([...agents.values()], stop, { concurrency: "unbounded", discard: true })
    )
  }
})
