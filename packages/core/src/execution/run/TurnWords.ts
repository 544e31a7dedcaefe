import { MessageId } from "@reins/base/domain/Ids"
import type { SaidWord } from "@reins/machine/bench/AgentOrder"
import type { TurnEar } from "@reins/machine/bench/Agents"
import { Effect } from "effect"
import type { Message } from "../../sessions/rows/Message.js"
import { Steering } from "../../sessions/turns/Steering.js"
import { Bell, steeringTopic } from "../../store/Bell.js"
import { lookUntil } from "../../store/LookUntil.js"
import type { TurnWork } from "../setup/TurnWork.js"

/** Gives the part of a turn's ear that tells its agent, while it works, what people say to it. Messages keep their order. */
export const turnWords = Effect.gen(function* () {
  const bell = yield* Bell
  const steering = yield* Steering

  return ({ attempt, turn }: TurnWork): Required<Pick<TurnEar, "nextWord" | "settle">> => {
    const next = lookUntil(bell, {
      topics: [steeringTopic(turn.id)],
      look: Effect.gen(function* () {
        let message = yield* steering.next(turn.id)
        while (message !== undefined && !(yield* attempt.commit(steering.offer(message))))
          message = yield* steering.next(turn.id)
        return message
      })
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
