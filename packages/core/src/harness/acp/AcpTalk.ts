import { Deferred, Effect, Option, Ref } from "effect"
import type { Asked } from "../HarnessEvent.js"
import type { Answer, PromptBlock, Word } from "../TurnInput.js"
import { ask } from "./AcpAgent.js"
import { promptBlocks } from "./AcpPromptBlocks.js"
import { withdrawAll } from "./AcpQuestions.js"
import { SteeringResult } from "./AcpSchema.js"
import type { Turn } from "./AcpTurn.js"
import * as Failures from "./Failures.js"
import type * as JsonRpc from "./JsonRpc.js"

/** Something that the agent is told when it has ended what it does, in the same turn. */
interface FollowUp {
  readonly prompt: ReadonlyArray<PromptBlock>
  readonly settle: Word["settle"]
}

/** The words to an agent beside the message of its turn, and their state. One fiber says them; the conversation takes its turns with it. */
export class Talk {
  private followUps: Array<FollowUp> = []
  private isOver = false
  /** Held while a word is on its way, so that no conversation ends without an answer about it. */
  readonly taking = Effect.unsafeMakeSemaphore(1)
  /** Open once the first prompt is on its way. An agent without one has nothing to be steered away from. */
  readonly begun = Effect.unsafeMakeLatch(false)

  /** Notes what a person says beside an answer. */
  note({ options, title }: Asked, { note, option }: Answer): void {
    const chosen = options.find(({ id }) => id === option)?.name ?? option
    const prompt = [{ type: "text" as const, text: `About "${title}", which was answered with "${chosen}": ${note}` }]
    this.followUps.push({ prompt, settle: () => Effect.void })
  }

  /** False when the conversation is over and takes nothing more. */
  follow(followUp: FollowUp): boolean {
    if (!this.isOver) this.followUps.push(followUp)
    return !this.isOver
  }

  /** True while the agent works on a prompt, or will work on another one. */
  get isOpen(): boolean {
    return !this.isOver
  }

  /** The next words. With none left, the conversation is over. */
  readonly next: Effect.Effect<ReadonlyArray<PromptBlock> | undefined> = Effect.suspend(() => {
    const said = this.followUps
    this.followUps = []
    this.isOver = said.length === 0
    return this.isOver
      ? Effect.succeed(undefined)
      : Effect.as(
          Effect.forEach(said, ({ settle }) => settle("taken"), { discard: true }),
          said.flatMap(({ prompt }) => prompt)
        )
  }).pipe(this.taking.withPermits(1))

  /** Ends a conversation that cannot go on, and gives back what was not said. */
  readonly end: Effect.Effect<void> = Effect.suspend(() => {
    const unsaid = this.followUps
    this.followUps = []
    this.isOver = true
    return Effect.forEach(unsaid, ({ settle }) => settle("left"), { discard: true })
  })
}

/** Puts a word into what the agent does. An agent that was idle by then has handed it back. */
const steer = Effect.fnUntraced(function* (
  turn: Turn,
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
  const outcome = yield* ask(turn, peer, "_session/steering", params, SteeringResult).pipe(
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
const interrupt = Effect.fnUntraced(function* (turn: Turn, peer: JsonRpc.Peer, sessionId: string, word: Word) {
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
export const listen = (turn: Turn, peer: JsonRpc.Peer, sessionId: string) => {
  const { nextWord } = turn.input
  if (nextWord === undefined) return Effect.void
  const say = (word: Word) =>
    word.kind === "interrupt"
      ? interrupt(turn, peer, sessionId, word)
      : turn.talk.taking.withPermits(1)(steer(turn, peer, sessionId, word))
  // A turn that is broken fails by itself.
  return Effect.ignore(Effect.zipRight(turn.talk.begun.await, Effect.forever(Effect.flatMap(nextWord, say))))
}
