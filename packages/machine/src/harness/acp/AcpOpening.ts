import { failpoint } from "@reins/base/base/Failpoint"
import { Deferred, Effect, Ref } from "effect"
import type { ExecutorError, StopHooks } from "../../executor/Executor.js"
import type { Agent, Emit, OpenAgent } from "../HarnessDriver.js"
import type { HarnessEvent } from "../HarnessEvent.js"
import * as Launch from "../Launch.js"
import type { AgentInput, TurnRequest } from "../TurnInput.js"
import { inTime, makeAgent, orBroken } from "./AcpAgent.js"
import { makePeer } from "./AcpPeer.js"
import { prompt } from "./AcpPrompt.js"
import { initialize, nameSession, openSession, selectModel, setOptions } from "./AcpSession.js"
import type { AcpSettings } from "./AcpSettings.js"
import type { AcpAgent } from "./AcpState.js"
import { makeTurn } from "./AcpTurn.js"
import { watchAgent, watchDeadline, watchOutput, watchSilence, watchStderr } from "./AcpWatches.js"
import * as Failures from "./Failures.js"
import type * as JsonRpc from "./JsonRpc.js"

/** The polite requests to stop that come before the agent is ended. A prompt without an answer is cancelled first. */
const stopHooks = ({ answered }: AcpAgent, peer: JsonRpc.Peer, sessionId: string): StopHooks => ({
  cancel: Effect.flatMap(Ref.get(answered), (answer) =>
    Effect.flatMap(Deferred.isDone(answer), (done) =>
      done ? Effect.void : Effect.zipRight(peer.notify("session/cancel", { sessionId }), Deferred.await(answer))
    )
  ),
  close: peer.request("session/close", { sessionId })
})

const unavailable = (error: ExecutorError) => Failures.executorUnavailable(error.message, error.kind !== "unavailable")

/** Runs one turn on an agent that is in its native session. */
const runTurn = (agent: AcpAgent, peer: JsonRpc.Peer, id: string, request: TurnRequest, emit: Emit) =>
  Effect.gen(function* () {
    const turn = yield* makeTurn(agent, request, emit)
    yield* Effect.acquireRelease(Ref.set(agent.turn, turn), () => Ref.set(agent.turn, undefined))
    const opening = yield* Ref.getAndUpdate(agent.opening, again)
    yield* emit(opening)
    yield* Effect.forkScoped(watchAgent(turn))
    yield* Effect.forkScoped(watchDeadline(turn))
    if (opening.some((event) => event._tag === "native_session" && !event.resumed))
      yield* Effect.forkScoped(nameSession(agent, peer, id, request.prompt))
    yield* inTime(agent)(setOptions(agent, peer, id, request.options ?? {}))
    if (request.beforePrompt !== undefined && !(yield* request.beforePrompt(id))) return "cancelled" as const
    yield* Effect.forkScoped(watchSilence(turn))
    return yield* prompt(turn, peer, id)
  }).pipe(Effect.scoped)

/** The first events of a later turn: the agent is ready still, and its session goes on. */
const again = (opening: ReadonlyArray<HarnessEvent>): ReadonlyArray<HarnessEvent> =>
  opening.flatMap((event): ReadonlyArray<HarnessEvent> => {
    if (event._tag === "native_session") return [{ ...event, resumed: true }]
    return event._tag === "ready" ? [event] : []
  })

/** Starts an agent over the Agent Client Protocol, version 1. */
export const makeOpenAgent = (settings: AcpSettings): OpenAgent =>
  Effect.fnUntraced(function* (input: AgentInput) {
    const { runtime } = input.manifest
    if (runtime === null)
      return yield* Failures.executorUnavailable(`${input.manifest.provider_id} is disabled.`, false)
    const agent = yield* makeAgent(input, runtime, settings)
    const command = yield* Launch.prepareLaunch(input, runtime)
    const process = yield* Effect.mapError(input.executor.spawn(command), unavailable)
    yield* failpoint("turn.spawned")
    const peer = makePeer(agent, process)
    const stderr = yield* Effect.forkScoped(watchStderr(agent, process))
    yield* Effect.forkScoped(watchOutput(agent, process, peer, stderr))
    yield* inTime(agent)(initialize(agent, peer))
    yield* orBroken(agent)(Launch.workspaceMade(input))
    const id = yield* inTime(agent)(openSession(agent, peer))
    yield* Effect.addFinalizer(() => process.stop(stopHooks(agent, peer, id)))
    yield* inTime(agent)(selectModel(agent, peer, id))
    yield* Ref.set(agent.isStarting, false)
    const opened: Agent = {
      nativeSessionId: id,
      turn: (request, emit) => runTurn(agent, peer, id, request, emit),
      endLaterProcesses: process.endLaterProcesses,
      gone: Effect.ignore(Deferred.await(agent.broken))
    }
    return opened
  })
