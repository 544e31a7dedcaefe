import type { Actor } from "@reins/base/domain/Event"
import type { InteractionId } from "@reins/base/domain/Ids"
import type { HarnessEvent } from "@reins/machine/harness/HarnessEvent"
import type { QuestionAnswer } from "@reins/machine/harness/TurnInput"
import { Deferred, Effect, FiberId } from "effect"
import type { RunningAttempt } from "../../jobs/JobKind.js"
import type { InteractionStore } from "../../sessions/questions/InteractionStore.js"
import type { Interaction } from "../../sessions/rows/Interaction.js"
import type { Turn } from "../../sessions/rows/Turn.js"

/** The events of an agent about its questions. */
export type QuestionEvent = Extract<HarnessEvent, { readonly _tag: "asked" | "revised" | "withdrawn" }>

/** The questions of the agent of one turn, and their answers. Each run of an agent has its own value. */
export class TurnQuestions {
  private readonly ids = new Map<string, InteractionId>()
  private readonly asked = new Map<string, Deferred.Deferred<Interaction | undefined>>()
  /** True when nobody answered the last question in time and the agent was refused for that. */
  hasExpired = false

  constructor(
    private readonly interactions: InteractionStore["Type"],
    private readonly attempt: RunningAttempt,
    private readonly turn: Turn
  ) {}

  /**
   * Asks people, tells them of changes, and takes back what the agent has withdrawn, in the order of its output. `opened` gets the result once the commit is
   * through.
   */
  readonly open = (actor: Actor, output: ReadonlyArray<QuestionEvent>) =>
    Effect.gen(this, function* () {
      const given = new Map<string, Interaction | undefined>()
      for (const event of output) {
        const { request_id: id } = event
        if (event._tag === "asked") given.set(id, yield* this.interactions.open(this.turn.id, actor, event))
        else {
          const asked = given.get(id)?.id ?? this.ids.get(id)
          if (asked === undefined) continue
          yield* event._tag === "revised"
            ? this.interactions.revise(asked, event, actor)
            : this.interactions.takeBack(asked, actor)
        }
      }
      return given
    })

  /** Tells `answer` of the interactions that were opened. */
  readonly opened = (given: Effect.Effect.Success<ReturnType<TurnQuestions["open"]>>): Effect.Effect<void> =>
    Effect.forEach(
      given,
      ([requestId, interaction]) => {
        if (interaction !== undefined) this.ids.set(requestId, interaction.id)
        return Deferred.succeed(this.slot(requestId), interaction)
      },
      { discard: true }
    )

  /** `TurnInput.ask`. It never completes when the turn ends or the attempt is over, because the driver learns of both by itself. */
  readonly answer = (requestId: string): Effect.Effect<QuestionAnswer | null> =>
    Deferred.await(this.slot(requestId)).pipe(
      Effect.flatMap((interaction) =>
        interaction === undefined
          ? Effect.never
          : this.interactions.settled(interaction.id, (command) => this.attempt.commit(command))
      ),
      Effect.catchTag("AttemptLost", () => Effect.never),
      Effect.flatMap(({ answer, content, note, state, subject }) => {
        if (state === "cancelled") return Effect.never
        this.hasExpired = state === "expired"
        return Effect.succeed(answer === null ? null : { option: answer, note, content, seen: subject?.digest ?? null })
      })
    )

  private slot(requestId: string) {
    const slot = this.asked.get(requestId) ?? Deferred.unsafeMake<Interaction | undefined>(FiberId.none)
    this.asked.set(requestId, slot)
    return slot
  }
}
