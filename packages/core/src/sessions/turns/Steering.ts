import type { Actor } from "@reins/base/domain/Event"
import type { MessageId, TurnId } from "@reins/base/domain/Ids"
import { Context, Effect, Layer } from "effect"
import { systemActor } from "../../access/Access.js"
import { steeringTopic } from "../../store/Bell.js"
import type { Commit } from "../../store/Commit.js"
import { Journal } from "../../store/Journal.js"
import { MessageStore } from "../messages/MessageStore.js"
import type { Message } from "../rows/Message.js"
import { SessionListeners } from "../rows/SessionListeners.js"
import type { SessionRow } from "../rows/SessionRow.js"
import { SessionStore } from "../rows/SessionStore.js"
import { isSteerable, type Turn, turnStates } from "../rows/Turn.js"
import { TurnStore } from "./TurnStore.js"

const system = systemActor("steering")

/**
 * The messages that go into a turn which has begun. Each is delivered in that turn, or gets a turn of its own, and never both: it waits until the
 * agent's worker offers it, and is settled once the agent has answered. What may have reached an agent that then ended counts as delivered, as
 * the message of the turn itself does.
 */
export class Steering extends Context.Tag("@reins/core/sessions/turns/Steering")<
  Steering,
  {
    /** The turn that a message of a session can go into; undefined when none has begun. */
    readonly turnOf: (session: SessionRow) => TurnId | undefined
    /** Tells the worker of a turn that something was said to it. */
    readonly ring: (turnId: TurnId) => Effect.Effect<void, never, Commit>
    /** The first message that waits for its turn's agent; undefined when none does. */
    readonly next: (turnId: TurnId) => Effect.Effect<Message | undefined>
    /** Marks a message that is about to be given to the agent. False when it does not wait any more. */
    readonly offer: (message: Message) => Effect.Effect<boolean, never, Commit>
    /** Delivers a message that was offered, or gives it a turn of its own. One that was settled before stays as it is. */
    readonly settle: (messageId: MessageId, outcome: "taken" | "left") => Effect.Effect<void, never, Commit>
  }
>() {
  static readonly layer = Layer.effect(
    Steering,
    Effect.gen(function* () {
      const journal = yield* Journal
      const listeners = yield* SessionListeners
      const messages = yield* MessageStore
      const sessions = yield* SessionStore
      const turns = yield* TurnStore

      /** Delivers what the agent may have, and queues what it cannot have. */
      const end = Effect.fnUntraced(function* (message: Message, isTaken: boolean) {
        yield* messages.steer(message.id, null)
        if (isTaken) return yield* messages.deliver(message, system)
        const session = yield* sessions.lock(message.session_id)
        if (session === undefined || session.lifecycle === "closed") return yield* messages.cancel(message.id)
        const turn = yield* turns.queueAnyway(session, system, message.id)
        yield* messages.assign(message.id, turn.id)
      })

      const turnMoved = Effect.fnUntraced(function* (turn: Turn, _actor: Actor) {
        if (!turnStates.isTerminal(turn.state)) return
        for (const { message, steering } of yield* messages.steeredInto(turn.id))
          yield* end(message, steering === "offered")
      })

      yield* listeners.register({
        turnMoved,
        closing: ({ turns: { active } }) =>
          active === null
            ? Effect.void
            : Effect.flatMap(messages.steeredInto(active.id), (steered) =>
                Effect.forEach(
                  steered,
                  ({ message }) => Effect.zipRight(messages.steer(message.id, null), messages.cancel(message.id)),
                  { discard: true }
                )
              )
      })

      return Steering.of({
        turnOf: ({ turns: { active } }) => (active !== null && isSteerable(active.state) ? active.id : undefined),
        ring: (turnId) => journal.ringAfterCommit(steeringTopic(turnId)),
        next: (turnId) =>
          Effect.map(
            messages.steeredInto(turnId),
            (steered) => steered.find(({ steering }) => steering === "waiting")?.message
          ),
        offer: Effect.fnUntraced(function* ({ id, session_id }) {
          yield* sessions.lock(session_id)
          if ((yield* messages.findSteered(id))?.steering !== "waiting") return false
          yield* messages.steer(id, "offered")
          return true
        }),
        settle: Effect.fnUntraced(function* (id, outcome) {
          const unheld = yield* messages.findSteered(id)
          if (unheld !== undefined) yield* sessions.lock(unheld.message.session_id)
          const steered = yield* messages.findSteered(id)
          if (steered !== undefined) yield* end(steered.message, outcome === "taken")
        })
      })
    })
  )
}
