import { Effect } from "effect"
import type { SaidWord } from "../bench/AgentOrder.js"
import type { TurnEar } from "../bench/Agents.js"
import { MessageId } from "../domain/Ids.js"
import type { Message } from "../sessions/Message.js"
import { Steering } from "../sessions/turns/Steering.js"
import { Bell, steeringTopic } from "../store/Bell.js"
import type { TurnWork } from "./TurnWork.js"

/** The longest time that a lost ring can delay a word, in milliseconds. */
const pollMs = 5000

/** Gives the part of a turn's ear that tells its agent, while it works, what people say to it. Messages keep their order. */
export const turnWords = Effect.gen(function* () {
  const bell = yield* Bell
  const steering = yield* Steering

  return ({ attempt, turn }: TurnWork): Required<Pick<TurnEar, "nextWord" | "settle">> => {
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
    const toWord = ({ content, id, routing }: Message): SaidWord => ({
      id,
      kind: routing === "interrupt" ? "interrupt" : "steer",
      prompt: content
    })
    return {
      nextWord: next.pipe(
        Effect.catchTag("AttemptLost", () => Effect.never),
        Effect.map(toWord)
      ),
      // A lost attempt is settled by the end of its turn.
      settle: (word, outcome) => Effect.ignore(attempt.commit(steering.settle(MessageId.make(word), outcome)))
    }
  }
})
