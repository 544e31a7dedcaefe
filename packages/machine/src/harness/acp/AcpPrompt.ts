import { Deferred, Effect, Fiber, Option, Ref } from "effect"
import type { HarnessEvent } from "../HarnessEvent.js"
import type { PromptBlock } from "../TurnInput.js"
import { agentFailure, askAgent } from "./AcpAgent.js"
import { promptBlocks } from "./AcpPromptBlocks.js"
import { PromptResult } from "./AcpSchema.js"
import type { RunningTurn } from "./AcpState.js"
import { listen } from "./AcpTalk.js"
import * as Failures from "./Failures.js"
import type * as JsonRpc from "./JsonRpc.js"
import * as Transcript from "./Transcript.js"

type StopReason = Extract<HarnessEvent, { _tag: "ended" }>["stop_reason"]

const stopReasons: Readonly<Record<string, StopReason>> = {
  end_turn: "completed",
  cancelled: "cancelled",
  refusal: "refused",
  max_tokens: "limit",
  max_turn_requests: "limit"
}

const conclude = Effect.fnUntraced(function* (
  turn: RunningTurn,
  transcript: Transcript.Transcript,
  result: PromptResult
) {
  const reason = stopReasons[result.stopReason]
  if (reason === undefined) return yield* Failures.protocolBroken(turn.runtime, "session/prompt")
  const isOver = reason === "completed" || reason === "cancelled"
  if (isOver && transcript.wasRefused() && transcript.errorText() === "" && !(yield* Ref.get(turn.cancelled)))
    return "denied"
  if (reason !== "completed") return reason
  const error = transcript.errorText()
  if (error !== "") return yield* Failures.reported(Failures.heard(error), turn)
  return transcript.hasOutput() ? reason : yield* Failures.noOutput(turn.runtime)
})

/** Sends a prompt and gives its answer; none when the turn was cancelled and the agent gave no other answer. */
const sayAndHear = Effect.fnUntraced(function* (
  turn: RunningTurn,
  peer: JsonRpc.Peer,
  sessionId: string,
  said: ReadonlyArray<PromptBlock>
) {
  const answered = yield* Deferred.make<void>()
  yield* Ref.set(turn.agent.answered, answered)
  const params = { sessionId, prompt: yield* promptBlocks(turn, said) }
  const answer = yield* Effect.fork(
    askAgent({ ...turn, sent: turn.talk.begun.open }, peer, "session/prompt", params, PromptResult).pipe(
      Effect.catchTag("RpcError", agentFailure(turn)),
      Effect.ensuring(Deferred.succeed(answered, undefined))
    )
  )
  const afterCancel = turn.input.cancel.pipe(
    Effect.zipRight(Ref.set(turn.cancelled, true)),
    Effect.zipRight(
      // An agent that does not even read its input is given no more time than one that does not answer.
      Effect.ignore(peer.notify("session/cancel", { sessionId })).pipe(
        Effect.zipRight(Deferred.succeed(turn.cancelSent, undefined)),
        Effect.zipRight(Effect.option(Fiber.join(answer))),
        Effect.timeoutOption(turn.settings.cancel_timeout_ms)
      )
    ),
    Effect.map(Option.flatten)
  )
  return yield* Effect.raceFirst(Effect.map(Fiber.join(answer), Option.some), afterCancel).pipe(
    // The answer may fail because of the cancellation, shortly before this side learns of the cancellation.
    Effect.catchAll((failure) =>
      Effect.flatMap(Ref.get(turn.cancelled), (asked) => (asked ? Effect.succeedNone : Effect.fail(failure)))
    )
  )
})

/** What the agent is told that has ended its work by itself; undefined for nothing. */
const followUp = ({ input }: RunningTurn, { stopReason }: PromptResult) =>
  input.followUp !== undefined && stopReason === "end_turn" ? input.followUp : Effect.succeed(undefined)

/** Says the message of the turn, and then all that follows it in the same turn. Gives the last answer; none for a turn that was cancelled. */
const converse = Effect.fnUntraced(function* (
  turn: RunningTurn,
  peer: JsonRpc.Peer,
  sessionId: string,
  transcript: Transcript.Transcript
) {
  for (let said = turn.input.prompt; ; ) {
    const result = yield* sayAndHear(turn, peer, sessionId, said)
    if (Option.isNone(result)) return result
    yield* turn.emit(transcript.usage(result.value).map(turn.agent.meter.read))
    if (yield* Ref.get(turn.cancelled)) return result
    const next = (yield* followUp(turn, result.value)) ?? (yield* turn.talk.next)
    if (next === undefined) return result
    yield* turn.emit(transcript.finish())
    said = next
  }
})

/** Sends the prompt and gives the end of the turn. */
export const prompt = Effect.fnUntraced(function* (turn: RunningTurn, peer: JsonRpc.Peer, sessionId: string) {
  const transcript = Transcript.make(sessionId, turn.settings, turn.scrubber, turn.agent.facts)
  yield* Ref.set(turn.transcript, Option.some(transcript))
  yield* turn.emit(turn.agent.facts.known())
  yield* Effect.forkScoped(listen(turn, peer, sessionId))
  const result = yield* converse(turn, peer, sessionId, transcript).pipe(
    Effect.ensuring(turn.talk.end),
    // The parts are closed from here on. Later words of the agent would open them again.
    Effect.ensuring(Ref.set(turn.transcript, Option.none())),
    Effect.tap(() => turn.emit(transcript.finish())),
    Effect.tapError(() => turn.emit(transcript.finish()))
  )
  return yield* Option.match(result, {
    onNone: () => Effect.succeed<StopReason>("cancelled"),
    onSome: (answer) => conclude(turn, transcript, answer)
  })
})
