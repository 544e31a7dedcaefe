import { failpoint } from "@reins/base/base/Failpoint"
import { Effect } from "effect"
import { MessageStore } from "../../sessions/messages/MessageStore.js"
import type { Message } from "../../sessions/rows/Message.js"
import { SessionStore } from "../../sessions/rows/SessionStore.js"
import { TurnStore } from "../../sessions/turns/TurnStore.js"
import { AgentStateStore } from "../../worktrees/AgentStateStore.js"
import { Leases } from "../../worktrees/Leases.js"
import { fixedPaths, type PreparedAgent } from "../setup/TurnSetup.js"
import { system, type TurnWork } from "../setup/TurnWork.js"

/**
 * The moment at which the agent is asked. From then on the turn runs, and it is never run twice. False when the turn was cancelled before, and
 * the agent has then done nothing.
 */
export const makeAsk = Effect.gen(function* () {
  const sessions = yield* SessionStore
  const states = yield* AgentStateStore
  const leases = yield* Leases
  const turns = yield* TurnStore
  const messages = yield* MessageStore

  return (
    { attempt, message, session, turn }: TurnWork,
    { order }: PreparedAgent,
    nativeSessionId: string,
    handoff: Message | undefined
  ) => {
    const started = Effect.gen(function* () {
      const active = (yield* sessions.lock(session.id))?.turns.active
      if (active?.id !== turn.id || active.state !== "preparing") return false
      yield* turns.move(turn.id, "running", system)
      if (handoff !== undefined) yield* messages.deliver(handoff, system)
      yield* messages.deliver({ ...message, turn_id: turn.id }, system)
      const native_paths = order.isFixed ? fixedPaths : null
      if (session.agent.native_session_id === null)
        yield* states.change(session.id, { native_candidate: nativeSessionId, native_paths })
      yield* leases.use(session.id)
      yield* sessions.touch(session.id)
      return true
    })
    return attempt.commit(started).pipe(
      Effect.tap(() => failpoint("turn.running")),
      // The commit that ends the turn fails with AttemptLost too, which ends the attempt.
      Effect.catchTag("AttemptLost", () => Effect.succeed(false))
    )
  }
})
