import { MessageId, newId, type SessionId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import { systemActor } from "@reins/core/access/Access"
import { EventLog } from "@reins/core/events/EventLog"
import { MessageStore } from "@reins/core/sessions/messages/MessageStore"
import { SessionStore } from "@reins/core/sessions/rows/SessionStore"
import type { TurnState } from "@reins/core/sessions/rows/Turn"
import { Turns } from "@reins/core/sessions/Turns"
import { TurnStore } from "@reins/core/sessions/turns/TurnStore"
import { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import { Effect } from "effect"

const actor = systemActor("test")

export const codeOf = <A, E, R>(effect: Effect.Effect<A, E | ReinsError, R>) =>
  Effect.map(Effect.flip(effect), (error) =>
    typeof error === "object" && error !== null && "code" in error ? error.code : error
  )

/** The running turn of a session, or else its first waiting turn. */
const currentTurn = (principal: Principal, sessionId: SessionId, states: ReadonlyArray<TurnState>) =>
  Effect.gen(function* () {
    const { items } = yield* (yield* Turns).list(principal, sessionId, { limit: 200 })
    const turn = items.find(({ state }) => states.includes(state))
    return turn ?? (yield* Effect.dieMessage(`no turn that is ${states.join(" or ")}`))
  })

/** Lets the turn of a session begin, as the worker of its job and the agent's start do. */
export const begin = (principal: Principal, sessionId: SessionId) =>
  Effect.gen(function* () {
    const turns = yield* TurnStore
    const { run, sql } = yield* Database
    const turn = yield* currentTurn(principal, sessionId, ["queued"])
    yield* (yield* Journal).commit(
      Effect.gen(function* () {
        yield* run(sql`update jobs set state = 'running', attempt_count = 1 where subject_id = ${turn.id}`)
        yield* turns.move(turn.id, "preparing", actor)
        yield* turns.move(turn.id, "running", actor)
      })
    )
    return turn.id
  })

/** Ends the running turn of a session, as the end of the agent's work does. */
export const end = (
  principal: Principal,
  sessionId: SessionId,
  to: "succeeded" | "failed" | "interrupted" | "cancelled",
  text?: string
) =>
  Effect.gen(function* () {
    const turns = yield* TurnStore
    const messages = yield* MessageStore
    const sessions = yield* SessionStore
    const turn = yield* currentTurn(principal, sessionId, ["running", "cancelling"])
    const messageId = yield* newId(MessageId)
    yield* (yield* Journal).commit(
      Effect.gen(function* () {
        const session = yield* sessions.lock(sessionId)
        if (session === undefined) return yield* Effect.dieMessage("no session")
        const answer = { content: [{ type: "text" as const, text: text ?? "" }], parts: [] }
        if (text !== undefined) yield* messages.complete(messageId, session, turn.id, actor, answer)
        if (to === "cancelled" && turn.state === "running") yield* turns.move(turn.id, "cancelling", actor)
        yield* turns.move(turn.id, to, actor, {
          outcome: { message_id: text === undefined ? null : messageId, stop_reason: "end_turn" },
          ...(to === "failed" && { reason: "harness_crashed" as const, reasonMessage: "The agent crashed." })
        })
      })
    )
  })

/** The types of the events by which a session is told of its delegations, in order. */
export const delegationEvents = (principal: Principal, sessionId: string) =>
  Effect.gen(function* () {
    const { items } = yield* (yield* EventLog).page(principal, sessionId, { after: 0, limit: 1000 })
    return items.filter(({ type }) => type.startsWith("delegation."))
  })
