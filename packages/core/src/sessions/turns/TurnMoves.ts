import { Observer } from "@reins/base/base/Observer"
import type { Actor } from "@reins/base/domain/Event"
import type { SessionId, TurnId } from "@reins/base/domain/Ids"
import { now, toMillis } from "@reins/base/domain/Timestamp"
import { Effect } from "effect"
import { systemActor } from "../../access/Access.js"
import { BudgetStore } from "../../budgets/BudgetStore.js"
import { Projects } from "../../projects/Projects.js"
import type { Commit } from "../../store/Commit.js"
import { Database } from "../../store/Database.js"
import { existingOf } from "../../store/Existing.js"
import { Journal } from "../../store/Journal.js"
import { MessageStore } from "../messages/MessageStore.js"
import { SessionListeners } from "../rows/SessionListeners.js"
import type { SessionRow } from "../rows/SessionRow.js"
import { SessionStore } from "../rows/SessionStore.js"
import { type Turn, type TurnState, turnStates, unprovenTurnState, waitingTurnState } from "../rows/Turn.js"
import { modelCallStore } from "../usage/ModelCallStore.js"
import { usageStore } from "../usage/UsageStore.js"
import { movedEvent, type TurnEnd, type TurnRow, toTurn } from "./TurnRow.js"

export const turnsActor = systemActor("turns")

/** The moves of turns from state to state. `dispatch` starts the next turn of a session. */
export const turnMoves = Effect.fnUntraced(function* (
  dispatch: (sessionId: SessionId) => Effect.Effect<void, never, Commit>
) {
  const db = yield* Database
  const journal = yield* Journal
  const messages = yield* MessageStore
  const sessions = yield* SessionStore
  const listeners = yield* SessionListeners
  const projects = yield* Projects
  const usages = yield* usageStore
  const calls = yield* modelCallStore
  const budgets = yield* BudgetStore
  const observer = yield* Observer
  const sql = db.sql

  const findRow = (id: string) => db.first(sql<TurnRow>`select * from turns where id = ${id}`)
  const existing = existingOf("turn", findRow)

  const acknowledge = Effect.fnUntraced(function* (turnId: TurnId, actor: Actor) {
    yield* db.run(sql`update turns set acknowledged_at = ${yield* now} where id = ${turnId}`)
    const turn = toTurn(yield* existing(turnId))
    yield* journal.append(turn.session_id, actor, [
      { type: "turn.acknowledged", payload: { turn }, subjects: { turn_id: turn.id } }
    ])
    yield* dispatch(turn.session_id)
    return turn
  })

  /** True where the project version of the session says that nobody needs to look at an interrupted turn. */
  const goesOnByItself = (session: SessionRow) =>
    Effect.map(projects.specOf(session), ({ auto_acknowledge }) => auto_acknowledge === true)

  /** Counts the usage of a turn that has ended, and lets the queue go on. */
  const settle = Effect.fnUntraced(function* (turn: Turn, keyId: TurnRow["api_key_id"]) {
    const session = yield* sessions.find(turn.session_id)
    if (session === undefined) return
    yield* sessions.addUsage(session, turn.usage)
    yield* usages.count(session.workspace_id, turn, keyId)
    yield* budgets.lose(turn.id)
    if (turn.state === unprovenTurnState && (yield* goesOnByItself(session))) yield* acknowledge(turn.id, turnsActor)
    else yield* dispatch(session.id)
  })

  const move = Effect.fnUntraced(function* (turnId: TurnId, to: TurnState, actor: Actor, end: TurnEnd = {}) {
    const unheld = yield* existing(turnId)
    yield* sessions.lock(unheld.session_id)
    const row = yield* existing(turnId)
    yield* Effect.orDie(turnStates.check(row.state, to))
    const at = yield* now
    const isEnd = turnStates.isTerminal(to)
    const usage = (isEnd ? yield* calls.usageOf(turnId) : undefined) ?? end.usage
    const change = {
      state: to,
      reason: end.reason ?? null,
      reason_message: end.reasonMessage ?? null,
      outcome: end.outcome === undefined ? row.outcome : JSON.stringify(end.outcome),
      usage: usage === undefined ? row.usage : JSON.stringify(usage),
      started_at: to === "running" ? (row.started_at ?? at) : row.started_at,
      finished_at: isEnd ? at : null
    }
    yield* db.run(sql`update turns set ${sql.update(change)} where id = ${turnId}`)
    const turn = toTurn(yield* existing(turnId))
    yield* journal.append(row.session_id, actor, [
      { ...movedEvent(row.state, turn, end.interaction), subjects: { turn_id: turnId, job_id: row.job_id } }
    ])
    if (isEnd) {
      yield* messages.cancel(row.message_id)
      yield* journal.afterCommit(observer.turnEnded(turn))
      yield* settle(turn, row.api_key_id)
    } else if (row.state === waitingTurnState)
      yield* journal.afterCommit(observer.turnBegun(turn, toMillis(at) - toMillis(turn.created_at)))
    yield* listeners.turnMoved(turn, actor, row.state)
    return turn
  })

  return { acknowledge, findRow, move }
})
