import { Deferred, Effect, Mailbox, Schema, Stream } from "effect"
import { failpoint } from "../../base/Failpoint.js"
import type { ExecutorError, StopHooks } from "../../executor/Executor.js"
import type { HarnessDriver, RunTurn } from "../HarnessDriver.js"
import type { HarnessEvent, HarnessFailure } from "../HarnessEvent.js"
import * as Launch from "../Launch.js"
import type { TurnInput } from "../TurnInput.js"
import { makePeer } from "./AcpPeer.js"
import { prompt } from "./AcpPrompt.js"
import { initialize, openSession, selectModel, setOptions } from "./AcpSession.js"
import { AcpSettings } from "./AcpSettings.js"
import { inTime, makeTurn, type Turn } from "./AcpTurn.js"
import { watchDeadline, watchOutput, watchSilence, watchStderr } from "./AcpWatches.js"
import * as Failures from "./Failures.js"
import type * as JsonRpc from "./JsonRpc.js"

/** The number of events that may wait for a reader before the agent has to wait too. */
const waitingEvents = 256

/** The polite requests to stop that come before the agent is ended. A prompt without an answer is cancelled first. */
const stopHooks = ({ talk }: Turn, peer: JsonRpc.Peer, sessionId: string): StopHooks => ({
  cancel: Effect.flatMap(Deferred.isDone(talk.answered), (done) =>
    done ? Effect.void : Effect.zipRight(peer.notify("session/cancel", { sessionId }), Deferred.await(talk.answered))
  ),
  close: peer.request("session/close", { sessionId })
})

const unavailable = (error: ExecutorError) => Failures.executorUnavailable(error.message, error.kind !== "unavailable")

const runSession = Effect.fnUntraced(function* (turn: Turn) {
  const command = yield* Launch.prepare(turn.input, turn.runtime)
  const process = yield* Effect.mapError(turn.input.executor.spawn(command), unavailable)
  yield* failpoint("turn.spawned")
  yield* Effect.forkScoped(watchDeadline(turn))
  const peer = makePeer(turn, process)
  yield* Effect.forkScoped(watchOutput(turn, process, peer))
  yield* Effect.forkScoped(watchStderr(turn, process))
  const begin = Effect.gen(function* () {
    yield* inTime(turn)(initialize(turn, peer))
    const id = yield* inTime(turn)(openSession(turn, peer))
    yield* Effect.addFinalizer(() => process.stop(stopHooks(turn, peer, id)))
    yield* inTime(turn)(selectModel(turn, peer, id))
    yield* inTime(turn)(setOptions(turn, peer, id))
    return id
  })
  const id = yield* Effect.raceFirst(begin, Effect.as(turn.input.cancel, undefined))
  if (id === undefined || (turn.input.beforePrompt !== undefined && !(yield* turn.input.beforePrompt(id))))
    return "cancelled" as const
  yield* Effect.forkScoped(watchSilence(turn))
  return yield* prompt(turn, peer, id)
})

const run = Effect.fnUntraced(function* (settings: AcpSettings, input: TurnInput, emit: Turn["emit"]) {
  const { runtime } = input.manifest
  if (runtime === null) return yield* Failures.executorUnavailable(`${input.manifest.provider_id} is disabled.`, false)
  const turn = yield* makeTurn(input, runtime, settings, emit)
  const stop_reason = yield* Effect.scoped(runSession(turn))
  yield* emit([{ _tag: "ended", stop_reason }])
})

/** Runs one turn over the Agent Client Protocol, version 1. */
const runTurn =
  (settings: AcpSettings): RunTurn =>
  (input) =>
    Stream.unwrapScoped(
      Effect.gen(function* () {
        const events = yield* Mailbox.make<HarnessEvent, HarnessFailure>({ capacity: waitingEvents })
        yield* run(settings, input, (batch) => Effect.asVoid(events.offerAll(batch))).pipe(
          Mailbox.into(events),
          Effect.forkScoped
        )
        return Mailbox.toStream(events)
      })
    )

/** The driver for agents that speak the Agent Client Protocol. */
export const acpDriver: HarnessDriver = {
  driver: "acp",
  bind: (settings) => Effect.map(Schema.decodeUnknown(AcpSettings, { onExcessProperty: "error" })(settings), runTurn)
}
