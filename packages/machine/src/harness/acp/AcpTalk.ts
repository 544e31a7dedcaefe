import { Deferred, Effect, Option, Ref } from "effect"
import type { Word } from "../TurnInput.js"
import { askAgent } from "./AcpAgent.js"
import { promptBlocks } from "./AcpPromptBlocks.js"
import { withdrawAll } from "./AcpQuestions.js"
import { SteeringResult } from "./AcpSchema.js"
import type { RunningTurn } from "./AcpState.js"
import * as Failures from "./Failures.js"
import type * as JsonRpc from "./JsonRpc.js"

/** Puts a word into what the agent does. An agent that was idle by then has handed it back. */
const steer = Effect.fnUntraced(function* (
  turn: RunningTurn,
  peer: JsonRpc.Peer,
  sessionId: string,
  { prompt, settle }: Word
) {
  if (!turn.talk.isOpen || turn.settings.steering === "none") return yield* settle("left")
  const params = {
    sessionId,
    prompt: yield* promptBlocks(turn, prompt),
    _meta: { steering: { idleBehavior: "promptRequired" as const } }
  }
  const outcome = yield* askAgent(turn, peer, "_session/steering", params, SteeringResult).pipe(
    Effect.map(({ outcome }) => outcome),
    Effect.catchTag("RpcError", () => Effect.succeed("failed")),
    // An agent that does not answer may have taken it, and what may have been taken is not said twice.
    Effect.timeoutOption(turn.settings.cancel_timeout_ms),
    Effect.map(Option.getOrElse(() => "injected"))
  )
  if (outcome === "startedNewTurn")
    yield* Deferred.fail(turn.broken, Failures.protocolBroken(turn.runtime, "_session/steering"))
  yield* settle(outcome === "promptRequired" || outcome === "failed" ? "left" : "taken")
})

/** Stops what the agent does, so that it goes on with a word. */
const interrupt = Effect.fnUntraced(function* (turn: RunningTurn, peer: JsonRpc.Peer, sessionId: string, word: Word) {
  const { taking } = turn.talk
  const answered = yield* Ref.get(turn.agent.answered)
  // The next prompt waits meanwhile, so that the cancellation cannot reach it.
  const followed = yield* taking.withPermits(1)(
    Effect.gen(function* () {
      if (!turn.talk.follow(word)) return false
      yield* withdrawAll(turn)
      if (!(yield* Deferred.isDone(answered))) yield* Effect.ignore(peer.notify("session/cancel", { sessionId }))
      return true
    })
  )
  if (!followed) return yield* word.settle("left")
  const stopped = yield* Effect.timeoutOption(Deferred.await(answered), turn.settings.cancel_timeout_ms)
  if (Option.isNone(stopped))
    yield* Deferred.fail(
      turn.broken,
      Failures.timedOut(turn.runtime, "did not stop what it did when it was interrupted")
    )
})

/** Says to the agent what comes in while it works, one word after the other. */
export const listen = (turn: RunningTurn, peer: JsonRpc.Peer, sessionId: string) => {
  const { nextWord } = turn.input
  if (nextWord === undefined) return Effect.void
  const say = (word: Word) =>
    word.kind === "interrupt"
      ? interrupt(turn, peer, sessionId, word)
      : turn.talk.taking.withPermits(1)(steer(turn, peer, sessionId, word))
  // A turn that is broken fails by itself.
  return Effect.ignore(Effect.zipRight(turn.talk.begun.await, Effect.forever(Effect.flatMap(nextWord, say))))
}
