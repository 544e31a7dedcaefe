import { pathToFileURL } from "node:url"
import type * as acp from "@agentclientprotocol/sdk"
import { Deferred, Effect, Fiber, Option, Ref } from "effect"
import type { HarnessEvent, Usage } from "../HarnessEvent.js"
import type { PromptBlock } from "../TurnInput.js"
import { ask, failed } from "./AcpAgent.js"
import { PromptResult } from "./AcpSchema.js"
import type { Turn } from "./AcpTurn.js"
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

/** The usage of this turn alone, also of an agent that counts over all turns of its process. */
const ofTurn = ({ agent }: Turn) =>
  Effect.fnUntraced(function* (usage: Usage) {
    if (usage.scope !== "process") return usage
    const before = yield* Ref.getAndSet(agent.counted, usage)
    const since = (kind: "input_tokens" | "output_tokens" | "cached_tokens" | "reasoning_tokens") =>
      usage[kind] === null ? null : Math.max(0, usage[kind] - (before?.[kind] ?? 0))
    return {
      ...usage,
      input_tokens: since("input_tokens"),
      output_tokens: since("output_tokens"),
      cached_tokens: since("cached_tokens"),
      reasoning_tokens: since("reasoning_tokens")
    }
  })

const conclude = Effect.fnUntraced(function* (turn: Turn, transcript: Transcript.Transcript, result: PromptResult) {
  yield* turn.emit(yield* Effect.forEach(transcript.usage(result), ofTurn(turn)))
  const reason = stopReasons[result.stopReason]
  if (reason === undefined) return yield* Failures.protocolBroken(turn.runtime, "session/prompt")
  const isOver = reason === "completed" || reason === "cancelled"
  if (isOver && transcript.wasRefused() && transcript.errorText() === "" && !(yield* Ref.get(turn.cancelled)))
    return "denied"
  if (reason !== "completed") return reason
  const error = transcript.errorText()
  if (error !== "") return yield* Failures.reported(error, turn)
  return transcript.hasOutput() ? reason : yield* Failures.noOutput(turn.runtime)
})

/** A text, or a link to a resource. Every agent takes these two; other kinds are optional in the protocol. */
const promptBlock = (block: PromptBlock): acp.ContentBlock =>
  block.type === "text"
    ? block
    : {
        type: "resource_link",
        uri: pathToFileURL(block.path).href,
        name: block.name,
        size: block.size,
        ...(block.mediaType !== null && { mimeType: block.mediaType })
      }

/** Sends the prompt and gives the end of the turn. */
export const prompt = Effect.fnUntraced(function* (turn: Turn, peer: JsonRpc.Peer, sessionId: string) {
  const answered = yield* Deferred.make<void>()
  yield* Ref.set(turn.agent.answered, answered)
  const transcript = Transcript.make(sessionId, turn.settings, turn.scrubber)
  yield* Ref.set(turn.transcript, Option.some(transcript))
  const params = { sessionId, prompt: turn.input.prompt.map(promptBlock) }
  const answer = yield* Effect.fork(
    ask(turn, peer, "session/prompt", params, PromptResult).pipe(
      Effect.catchTag("RpcError", failed(turn)),
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
  const result = yield* Effect.raceFirst(Effect.map(Fiber.join(answer), Option.some), afterCancel).pipe(
    // The answer may fail because of the cancellation, shortly before this side learns of the cancellation.
    Effect.catchAll((failure) =>
      Effect.flatMap(Ref.get(turn.cancelled), (asked) => (asked ? Effect.succeedNone : Effect.fail(failure)))
    ),
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
