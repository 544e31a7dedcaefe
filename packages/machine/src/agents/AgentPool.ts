import { CoreConfig } from "@reins/base/base/CoreConfig"
import { Context, Deferred, Effect, Exit, Layer, Schedule, Scope, type Stream } from "effect"
import type { Emit } from "../harness/HarnessDriver.js"
import type { HarnessEvent, HarnessFailure } from "../harness/HarnessEvent.js"
import { turnEvents } from "../harness/TurnEvents.js"
import type { TurnRequest } from "../harness/TurnInput.js"
import type { CallObserver } from "../relay/gateway/ModelCall.js"
import type { CallTool } from "../relay/mcp/ToolOffer.js"
import type { AgentStart, KeptAgent } from "./KeptAgent.js"
import { keptAgents } from "./KeptAgents.js"

/** A turn, with the start of its agent in case that none is kept for it. */
export interface PooledTurn extends AgentStart, TurnRequest {
  /** Hears of the model calls of the turn. */
  readonly observer?: CallObserver
  /** As `TurnEar.cutOff`. */
  readonly cutOff?: Effect.Effect<void>
  /** Answers the calls of the tools of the turn; each is refused where it is absent. */
  readonly callTool?: CallTool
}

/** Told once of an agent. It has ended a turn without asking for the tools that it was told of. */
const toolsNotOffered: HarnessEvent = {
  _tag: "diagnostic",
  kind: "tools_not_offered",
  line: "The agent has not asked for the tools of Reins, so its model was offered none of them."
}

/** The longest time between two looks for agents that are idle for too long, in milliseconds. */
const sweepMs = 15_000

/**
 * The agents of this process, at most one for each lease. An agent that has completed a turn is kept for the next one. Between turns its token
 * is dead and nothing that a turn has started runs. It is stopped when it is idle for too long, when its place or its memory is needed, before
 * anybody else touches its lease or its state, and with this process.
 */
export class AgentPool extends Context.Tag("@reins/core/agents/AgentPool")<
  AgentPool,
  {
    /**
     * Runs one turn, on the agent that is kept for the lease if that was started in the same way and is in the same native session, else on a
     * new one. Events come in order: `ready`, `native_session`, output, and last `ended`. No process that the turn has started is left when the
     * stream has ended, and no process of the agent when the turn has failed, was cancelled or was interrupted. A lease runs one turn at a time.
     */
    readonly run: (turn: PooledTurn) => Stream.Stream<HarnessEvent, HarnessFailure>
    /** True while one more agent can be kept without another one giving way. */
    readonly hasRoom: Effect.Effect<boolean>
    /**
     * Begins to start the agent of a lease for a turn that may come, where there is room and the lease has none. Gives the effect that waits
     * until the agent of the lease has started or failed. A failure is left to the turn, which starts another.
     */
    readonly prepare: (start: AgentStart) => Effect.Effect<Effect.Effect<void>>
    /**
     * Begins to start the agent of a lease for the turn that is being prepared, where the lease has none. The scope stops it unless the turn has
     * taken it by then. A failure is left to the turn, which starts another.
     */
    readonly reserve: (start: AgentStart) => Effect.Effect<void, never, Scope.Scope>
    /** True while an agent is kept for the lease. Nobody else changes the state of the agent until it is stopped. */
    readonly isKept: (leaseId: string) => Effect.Effect<boolean>
    /** Stops the agent that is kept for a lease, and waits until nothing of it is left. Does nothing to an agent that works on a turn. */
    readonly stop: (leaseId: string) => Effect.Effect<void>
    /** Begins to stop the agent that is kept for a lease. */
    readonly dismiss: (leaseId: string) => Effect.Effect<void>
    /** Stops every agent that works on no turn, and waits until nothing of them is left. */
    readonly stopAll: Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.scoped(
    AgentPool,
    Effect.gen(function* () {
      const { agentIdleMs } = yield* CoreConfig
      const agents = yield* keptAgents
      yield* Effect.addFinalizer(() => agents.stopAll)
      const spacing = Math.max(1, Math.min(sweepMs, agentIdleMs / 4))
      // It is no loop of `store/Loop.ts`, because this room needs no database.
      if (agentIdleMs > 0) yield* Effect.forkScoped(Effect.schedule(agents.trim, Schedule.spaced(spacing)))

      /** Ends all that the agent has open. Nobody else gets an agent without a way out. */
      const cut = (agent: KeptAgent, loans: Scope.CloseableScope) =>
        Effect.suspend(() => {
          agent.isGone = true
          return Effect.zipRight(Scope.close(loans, Exit.void), agent.closeWay)
        })

      /** Gives the end of the turn, with the native session of an agent that may be kept. */
      const work = Effect.fnUntraced(function* (agent: KeptAgent, turn: PooledTurn, emit: Emit) {
        const worked = yield* Effect.scoped(
          Effect.gen(function* () {
            const loans = yield* Effect.acquireRelease(Scope.make(), Scope.close)
            yield* Scope.extend(agent.lend(turn.connection, turn.observer), loans)
            if (turn.callTool !== undefined) yield* Scope.extend(agent.openTools(turn.callTool), loans)
            if (turn.cutOff !== undefined) yield* Effect.forkScoped(Effect.zipRight(turn.cutOff, cut(agent, loans)))
            const started = yield* Effect.raceFirst(Deferred.await(agent.opened), Effect.as(turn.cancel, undefined))
            if (started === undefined) return undefined
            const reason = yield* started.agent.turn(turn, emit)
            if (reason === "completed" && (yield* agent.lacksTools)) yield* emit([toolsNotOffered])
            yield* emit(yield* agent.news)
            return { ...started, reason }
          })
        )
        if (worked === undefined) return { reason: "cancelled" as const, native: undefined }
        const { endLater, reason } = worked
        // After any other end nobody knows what the agent still does.
        if (reason !== "completed" || agentIdleMs === 0 || endLater === undefined) return { reason, native: undefined }
        // The token is dead by now, so what is ended here cannot use it any more.
        yield* endLater
        return { reason, native: worked.agent.nativeSessionId }
      })

      return AgentPool.of({
        run: (turn) =>
          turnEvents((emit) =>
            Effect.acquireUseRelease(
              agents.take(turn),
              (agent) => work(agent, turn, emit),
              (agent, exit) =>
                Exit.isSuccess(exit) && exit.value.native !== undefined
                  ? agents.giveBack(agent, turn, exit.value.native)
                  : agents.end(agent, Effect.void)
            ).pipe(Effect.map(({ reason }) => reason))
          ),
        hasRoom: agents.hasRoom,
        prepare: agents.prepare,
        reserve: agents.reserve,
        isKept: (leaseId) => Effect.sync(() => agents.find(leaseId)?.state === "idle"),
        stop: (leaseId) => Effect.suspend(() => agents.stop(agents.find(leaseId))),
        dismiss: (leaseId) => Effect.suspend(() => agents.dismiss(agents.find(leaseId))),
        stopAll: agents.stopAll
      })
    })
  )
}
