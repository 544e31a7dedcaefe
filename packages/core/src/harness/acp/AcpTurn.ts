import { Clock, Deferred, Effect, Option, Ref } from "effect"
import type { Emit } from "../HarnessDriver.js"
import type { HarnessFailure } from "../HarnessEvent.js"
import type { Runtime } from "../Manifest.js"
import type { Scrubber } from "../Secrets.js"
import type { TurnInput, TurnRequest } from "../TurnInput.js"
import type { AcpAgent } from "./AcpAgent.js"
import type { OpenQuestion } from "./AcpQuestions.js"
import type { AcpSettings } from "./AcpSettings.js"
import { Talk } from "./AcpTalk.js"
import type * as Transcript from "./Transcript.js"

/** The state that the parts of a running turn share. It ends with the turn, and its agent may go on. */
export interface Turn {
  readonly agent: AcpAgent
  readonly input: TurnInput
  readonly runtime: Runtime
  readonly settings: AcpSettings
  readonly scrubber: Scrubber
  /** The agent's words about a failed model call in this turn, from outside the protocol. */
  readonly report: Ref.Ref<string>
  readonly emit: Emit
  /** Fails when the turn can have no result any more. */
  readonly broken: Deferred.Deferred<never, HarnessFailure>
  /** The transcript, from the time that the prompt is sent. Earlier updates are a replay. */
  readonly transcript: Ref.Ref<Option.Option<Transcript.Transcript>>
  readonly cancelled: Ref.Ref<boolean>
  /** Done once the agent was told of the cancellation. */
  readonly cancelSent: Deferred.Deferred<void>
  /** The number of questions that the agent has asked people. */
  readonly asked: Ref.Ref<number>
  /** The questions that have no answer yet, by their ids. */
  readonly questions: Map<string, OpenQuestion>
  readonly talk: Talk
  readonly lastLineAt: Ref.Ref<number>
}

/** A turn that has not begun. */
export const makeTurn = Effect.fnUntraced(function* (agent: AcpAgent, request: TurnRequest, emit: Emit) {
  yield* Ref.set(agent.report, "")
  const turn: Turn = {
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
    talk: new Talk(),
    lastLineAt: yield* Effect.flatMap(Clock.currentTimeMillis, Ref.make)
  }
  return turn
})
