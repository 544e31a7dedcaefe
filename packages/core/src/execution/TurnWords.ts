import { Effect } from "effect"
import type { Word } from "../harness/TurnInput.js"
import type { Message } from "../sessions/Message.js"
import { Steering } from "../sessions/turns/Steering.js"
import { Bell, steeringTopic } from "../store/Bell.js"
import * as TurnPrompt from "./TurnPrompt.js"
import type { TurnWork } from "./TurnWork.js"

/** The longest time that a lost ring can delay a word, in milliseconds. */
const pollMs = 5000

/** Gives `TurnRequest.nextWord` for a turn: what people say to its agent while it works, in the order in which it came in. */
export const turnWords = Effect.gen(function* () {
  const bell = yield* Bell
  const steering = yield* Steering
  const promptOf = yield* TurnPrompt.make

  return ({ attempt, turn }: TurnWork, workspace: TurnPrompt.PromptWorkspace): Effect.Effect<Word> => {
    const next = Effect.gen(function* () {
      const rung = yield* Effect.makeLatch(false)
      const stopListening = bell.listen(steeringTopic(turn.id), () => rung.unsafeOpen())
      return yield* Effect.gen(function* () {
        while (true) {
          // Closed before the look, so that a ring during it is not missed.
          yield* rung.close
          const message = yield* steering.next(turn.id)
          if (message === undefined) yield* Effect.timeoutOption(rung.await, pollMs)
          else if (yield* attempt.commit(steering.offer(message))) return message
        }
      }).pipe(Effect.ensuring(Effect.sync(stopListening)))
    })
    const toWord = (message: Message): Effect.Effect<Word> =>
      Effect.map(promptOf(workspace, message.content), (prompt) => ({
        kind: message.routing === "interrupt" ? "interrupt" : "steer",
        prompt,
        // A lost attempt is settled by the end of its turn.
        settle: (outcome) => Effect.ignore(attempt.commit(steering.settle(message.id, outcome)))
      }))
    return next.pipe(
      Effect.catchTag("AttemptLost", () => Effect.never),
      Effect.flatMap(toWord)
    )
  }
})
