import { Clock, Deferred, Effect, Option, Ref, Schema } from "effect"
import type { HarnessEvent, HarnessFailure } from "../HarnessEvent.js"
import type { Runtime } from "../Manifest.js"
import { type Scrubber, scrubber } from "../Secrets.js"
import type { TurnInput } from "../TurnInput.js"
import type { InitializeResult, Requests } from "./AcpSchema.js"
import type { AcpSettings } from "./AcpSettings.js"
import type { OpenQuestion } from "./AcpQuestions.js"
import { make as makeTalk, type Talk } from "./AcpTalk.js"
import { AgentFacts } from "./AgentFacts.js"
import * as Failures from "./Failures.js"
import type * as JsonRpc from "./JsonRpc.js"
import type * as Transcript from "./Transcript.js"

/** The state that the parts of a running turn share. */
export interface Turn {
  readonly input: TurnInput
  readonly runtime: Runtime
  readonly settings: AcpSettings
  readonly scrubber: Scrubber
  readonly emit: (events: ReadonlyArray<HarnessEvent>) => Effect.Effect<void>
  /** What the agent can do, from its handshake on. */
  readonly offered: Ref.Ref<NonNullable<InitializeResult["agentCapabilities"]>>
  readonly facts: AgentFacts
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
  /** The agent's words about a failed model call, from outside the protocol. */
  readonly report: Ref.Ref<string>
}

/** A turn that has not begun. */
export const makeTurn = Effect.fnUntraced(function* (
  input: TurnInput,
  runtime: Runtime,
  settings: AcpSettings,
  emit: Turn["emit"]
) {
  const turn: Turn = {
    input,
    runtime,
    settings,
    scrubber: scrubber(input.connection?.secrets ?? {}, input.connection?.told),
    emit,
    offered: yield* Ref.make({}),
    facts: new AgentFacts(),
    broken: yield* Deferred.make<never, HarnessFailure>(),
    transcript: yield* Ref.make(Option.none<Transcript.Transcript>()),
    cancelled: yield* Ref.make(false),
    cancelSent: yield* Deferred.make<void>(),
    asked: yield* Ref.make(0),
    questions: new Map(),
    talk: yield* makeTalk,
    lastLineAt: yield* Effect.flatMap(Clock.currentTimeMillis, Ref.make),
    report: yield* Ref.make("")
  }
  return turn
})

/** Waits for a result. Fails when the turn can have none any more. */
export const orBroken =
  (turn: Turn) =>
  <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E | HarnessFailure> =>
    Effect.raceFirst(effect, Deferred.await(turn.broken))

/**
 * Sends the agent a request and waits for its answer or for the end of the turn. Fails with `RpcError` when the agent answers with an error.
 */
export const ask = <Method extends keyof Requests, A, I>(
  turn: Turn,
  peer: JsonRpc.Peer,
  method: Method,
  params: Requests[Method],
  schema: Schema.Schema<A, I>,
  sent?: Effect.Effect<unknown>
) =>
  peer.request(method, params, sent).pipe(
    // A broken pipe means that the agent has ended. Its exit says more.
    Effect.catchTag("ExecutorError", () => Effect.never),
    Effect.flatMap((result) => Schema.decodeUnknown(schema)(result)),
    Effect.catchTag("ParseError", () => Effect.fail(Failures.protocolBroken(turn.runtime, method))),
    orBroken(turn)
  )

/** The failure for an error answer. The agent's words from outside the protocol come first. */
export const failed = (turn: Turn) => (error: JsonRpc.RpcError) =>
  Effect.flatMap(Ref.get(turn.report), (report) =>
    Effect.fail(Failures.reported(report === "" ? Failures.rpcText(error) : report, turn))
  )

/** Limits the time of a step of the start. */
export const inTime =
  (turn: Turn) =>
  <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E | HarnessFailure> =>
    Effect.timeoutFail(effect, {
      duration: turn.settings.start_timeout_ms,
      onTimeout: () => Failures.timedOut(turn.runtime, "did not start in time")
    })
