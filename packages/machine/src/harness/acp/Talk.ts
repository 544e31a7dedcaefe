import { Effect } from "effect"
import type { Asked } from "../HarnessEvent.js"
import type { PromptBlock, QuestionAnswer, Word } from "../TurnInput.js"

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
  note({ options, title }: Asked, { note, option }: QuestionAnswer): void {
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
