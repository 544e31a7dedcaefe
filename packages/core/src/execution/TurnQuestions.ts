import { Deferred, Effect, FiberId } from "effect"
import type { Actor } from "../domain/Event.js"
import type { Interaction } from "../domain/Interaction.js"
import type { Turn } from "../domain/Turn.js"
import type { Asked } from "../harness/HarnessEvent.js"
import type { RunningAttempt } from "../jobs/JobKind.js"
import type { Interactions } from "../sessions/Interactions.js"

/** The questions of the agent of one turn, on their way to people and back. */
export class TurnQuestions {
  private readonly asked = new Map<string, Deferred.Deferred<Interaction | undefined>>()
  /** Whether the agent was last refused something because nobody answered. */
  hasExpired = false

  constructor(
    private readonly interactions: Interactions["Type"],
    private readonly attempt: RunningAttempt,
    private readonly turn: Turn
  ) {}

  /** Asks people, in the order of the agent's output. What it gives back goes to `opened` after it. */
  readonly open = (actor: Actor, questions: ReadonlyArray<Asked>) =>
    Effect.forEach(questions, (question) =>
      Effect.map(this.interactions.open(this.turn.id, actor, question), (interaction) => ({
        requestId: question.request_id,
        interaction
      }))
    )

  readonly opened = (given: Effect.Effect.Success<ReturnType<TurnQuestions["open"]>>): Effect.Effect<void> =>
    Effect.forEach(given, ({ interaction, requestId }) => Deferred.succeed(this.slot(requestId), interaction), {
      discard: true
    })

  /** See `TurnInput.ask`. Never, when the turn ends or this attempt is over: the driver knows of both by itself. */
  readonly answer = (requestId: string): Effect.Effect<string | null> =>
    Deferred.await(this.slot(requestId)).pipe(
      Effect.flatMap((interaction) =>
        interaction === undefined
          ? Effect.never
          : this.interactions.settled(interaction.id, (command) => this.attempt.commit(command))
      ),
      Effect.catchTag("AttemptLost", () => Effect.never),
      Effect.flatMap(({ answer, state }) => {
        if (state === "cancelled") return Effect.never
        this.hasExpired = state === "expired"
        return Effect.succeed(answer)
      })
    )

  private slot(requestId: string) {
    const slot = this.asked.get(requestId) ?? Deferred.unsafeMake<Interaction | undefined>(FiberId.none)
    this.asked.set(requestId, slot)
    return slot
  }
}
