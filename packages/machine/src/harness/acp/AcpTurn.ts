import { Clock, Deferred, Effect, Option, Ref } from "effect"
import type { Emit } from "../HarnessDriver.js"
import type { HarnessFailure } from "../HarnessEvent.js"
import type { TurnRequest } from "../TurnInput.js"
import type { AcpAgent, RunningTurn } from "./AcpState.js"
import { Talk } from "./Talk.js"
import type * as Transcript from "./Transcript.js"

/** A turn that has not begun. */
export const makeTurn = Effect.fnUntraced(function* (agent: AcpAgent, request: TurnRequest, emit: Emit) {
  yield* Ref.set(agent.report, "")
  const turn: RunningTurn = {
    agent,
    input: { ...agent.input, ...request },
    runtime: agent.runtime,
    settings: agent.settings,
    scrubber: agent.scrubber,
    report: agent.report,
    emit,
    broken: yield* Deferred.make<never, HarnessFailure>(),
    transcript: yield* Ref.make(Option.none<Transcript.Transcript>()),
    cancelled: yield* Ref.make(false),
    cancelSent: yield* Deferred.make<void>(),
    asked: yield* Ref.make(0),
    questions: new Map(),
    awaited: new Map(),
    talk: new Talk(),
    lastLineAt: yield* Effect.flatMap(Clock.currentTimeMillis, Ref.make)
  }
  return turn
})
