import { Effect, type Scope } from "effect"
import type { RunningAttempt } from "../../jobs/JobKind.js"
import { MessageStore } from "../../sessions/messages/MessageStore.js"
import { SessionStore } from "../../sessions/rows/SessionStore.js"
import { turnStates, waitingTurnState } from "../../sessions/rows/Turn.js"
import { accessLost } from "../../sessions/turns/TurnRow.js"
import { TurnStore } from "../../sessions/turns/TurnStore.js"
import { type HeldRight, turnRights } from "./TurnRights.js"
import { system, type TurnWork, turnOf } from "./TurnWork.js"

/** The work on a turn that has begun, with the right by which it goes on. */
export interface BegunTurn extends TurnWork {
  readonly right: Effect.Effect<HeldRight, never, Scope.Scope>
}

/** The first step of an attempt, in which the turn leaves the queue. Undefined when the turn was cancelled before it could start. */
export const beginTurn = Effect.gen(function* () {
  const turns = yield* TurnStore
  const sessions = yield* SessionStore
  const messages = yield* MessageStore
  const { hold, mayBegin } = yield* turnRights

  const leaveQueue = Effect.fnUntraced(function* (attempt: RunningAttempt) {
    const found = yield* turns.find(turnOf(attempt.claim))
    return found?.state === waitingTurnState ? yield* turns.move(found.id, "preparing", system) : found
  })

  /** Ends a turn whose account or key has lost its right while it waited. */
  const refuseLost = Effect.fnUntraced(function* (attempt: RunningAttempt) {
    const found = yield* turns.find(turnOf(attempt.claim))
    if (found?.state !== waitingTurnState) return
    const session = yield* sessions.find(found.session_id)
    if (session === undefined || (yield* mayBegin(session, found))) return
    yield* attempt.commit(
      Effect.gen(function* () {
        yield* sessions.lock(session.id)
        const waits = (yield* turns.find(found.id))?.state === waitingTurnState
        if (waits) yield* turns.move(found.id, "cancelled", system, accessLost)
      })
    )
  })

  return Effect.fnUntraced(function* (attempt: RunningAttempt) {
    yield* refuseLost(attempt)
    const turn = yield* attempt.commit(leaveQueue(attempt))
    if (turn === undefined || turnStates.isTerminal(turn.state)) return undefined
    const session = yield* sessions.find(turn.session_id)
    const message = yield* messages.find(turn.message_id)
    if (session === undefined || message === undefined) return undefined
    const work: TurnWork = { attempt, turn, session, message }
    const begun: BegunTurn = { ...work, right: hold(work) }
    return begun
  })
})
