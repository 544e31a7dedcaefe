import { Effect } from "effect"
import type { RunningAttempt } from "../jobs/JobKind.js"
import { MessageStore } from "../sessions/messages/MessageStore.js"
import { SessionStore } from "../sessions/SessionStore.js"
import { turnStates, waitingTurnState } from "../sessions/Turn.js"
import { TurnStore } from "../sessions/turns/TurnStore.js"
import { system, type TurnWork, turnOf } from "./TurnWork.js"

/** The first step of an attempt, in which the turn leaves the queue. Undefined when the turn was cancelled before it could start. */
export const beginTurn = Effect.gen(function* () {
  const turns = yield* TurnStore
  const sessions = yield* SessionStore
  const messages = yield* MessageStore

  const leaveQueue = Effect.fnUntraced(function* (attempt: RunningAttempt) {
    const found = yield* turns.find(turnOf(attempt.claim))
    return found?.state === waitingTurnState ? yield* turns.move(found.id, "preparing", system) : found
  })

  return Effect.fnUntraced(function* (attempt: RunningAttempt) {
    const turn = yield* attempt.commit(leaveQueue(attempt))
    if (turn === undefined || turnStates.isTerminal(turn.state)) return undefined
    const session = yield* sessions.find(turn.session_id)
    const message = yield* messages.find(turn.message_id)
    if (session === undefined || message === undefined) return undefined
    const work: TurnWork = { attempt, turn, session, message }
    return work
  })
})
