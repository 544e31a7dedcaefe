import { Context, Effect, Layer } from "effect"
import { systemActor } from "../../access/Access.js"
import { Observer } from "../../base/Observer.js"
import { fn } from "../../base/Traced.js"
import { BudgetStore } from "../../budgets/BudgetStore.js"
import type { Actor } from "../../domain/Event.js"
import type { MessageId, SessionId, TurnId } from "../../domain/Ids.js"
import type { Page, StatePageRequest } from "../../domain/Page.js"
import type { ReinsError } from "../../domain/ReinsError.js"
import { now, toMillis } from "../../domain/Timestamp.js"
import type { OperationRef } from "../../jobs/Job.js"
import { JobStore } from "../../jobs/JobStore.js"
import { Projects } from "../../projects/Projects.js"
import type { Commit } from "../../store/Commit.js"
import { Database } from "../../store/Database.js"
import { existingOf } from "../../store/Existing.js"
import { Journal } from "../../store/Journal.js"
import * as Keyset from "../../store/Keyset.js"
import { andState, stateList } from "../../store/StateList.js"
import type { Interaction } from "../Interaction.js"
import { MessageStore } from "../messages/MessageStore.js"
import type { Usage } from "../Session.js"
import { SessionListeners } from "../SessionListeners.js"
import type { SessionRow } from "../SessionRow.js"
import { SessionStore } from "../SessionStore.js"
import {
  cancellableTurnStates,
  type Turn,
  type TurnReason,
  type TurnState,
  turnStates,
  unprovenTurnState,
  waitingTurnState
} from "../Turn.js"
import { modelCallStore } from "../usage/ModelCallStore.js"
import { usageStore } from "../usage/UsageStore.js"
import { turnQueue } from "./TurnQueue.js"
import { movedEvent, type TurnRow, toTurn } from "./TurnRow.js"

const system = systemActor("turns")

/** The end of a turn that was cancelled after it had left the queue. */
export const userCancelled = { reason: "user_cancelled", reasonMessage: "The turn was cancelled." } as const

/** The columns of a turn that a move sets besides the state. */
export interface TurnEnd {
  readonly reason?: TurnReason
  readonly reasonMessage?: string
  readonly outcome?: Turn["outcome"]
  /** The usage by the agent's own report. A turn whose model calls the relay has seen has the usage of these instead. */
  readonly usage?: Usage
  /** The question of the agent. A move to `requires_action`, and the move back to `running`, come with it, and no other move does. */
  readonly interaction?: Interaction
}

/**
 * The rows of turns, their states, and the events that tell of them. The turns of a session run one at a time, first in, first out. An
 * interrupted turn holds the queue until it is acknowledged, which the store does at once where the project version says
 * `auto_acknowledge`.
 */
export class TurnStore extends Context.Tag("@reins/core/sessions/turns/TurnStore")<
  TurnStore,
  {
    /** The turns of a session, oldest first. */
    readonly list: (
      sessionId: SessionId,
      page: StatePageRequest<TurnState>
    ) => Effect.Effect<Page<Turn>, ReinsError<"invalid_cursor">>
    /** The turn as it stands; undefined when there is none. */
    readonly find: (turnId: string) => Effect.Effect<Turn | undefined>
    /** Queues a turn for a message and starts it when its time has come. The commit holds the session. */
    readonly queue: (
      session: SessionRow,
      actor: Actor,
      messageId: MessageId,
      retryOf?: TurnId
    ) => Effect.Effect<{ readonly turn: Turn; readonly operation: OperationRef }, ReinsError<"quota_exhausted">, Commit>
    /** `queue` for a message that was taken before, however long the queue is. */
    readonly queueAnyway: (
      session: SessionRow,
      actor: Actor,
      messageId: MessageId
    ) => Effect.Effect<Turn, never, Commit>
    /**
     * Moves a turn and tells it. An end starts the next turn. Locks the session first. Dies for a move that `turnStates` does not draw.
     */
    readonly move: (turnId: TurnId, to: TurnState, actor: Actor, end?: TurnEnd) => Effect.Effect<Turn, never, Commit>
    /**
     * Ends a turn that waits, and asks the worker of a live one to stop. A turn that is being cancelled stays as it is. The commit holds
     * the session.
     */
    readonly cancel: (turnId: TurnId, actor: Actor) => Effect.Effect<Turn, ReinsError<"invalid_transition">, Commit>
    /** `cancel` for every turn of a session that has not ended. The commit holds the session. */
    readonly cancelAll: (sessionId: SessionId, actor: Actor) => Effect.Effect<void, never, Commit>
    /** Lets the queue go on behind an interrupted turn. The commit holds the session. */
    readonly acknowledge: (turnId: TurnId, actor: Actor) => Effect.Effect<Turn, never, Commit>
  }
>() {
  static readonly layer = Layer.effect(
    TurnStore,
    Effect.gen(function* () {
      const db = yield* Database
      const sql = db.sql
      const queue = yield* turnQueue
      const { acknowledge, findRow, move } = yield* turnMoves(queue.dispatch)
      const stop = yield* turnStops(move)
      const cancellable = sql.literal(stateList(cancellableTurnStates))

      return TurnStore.of({
        list: fn("TurnStore.list")(function* (sessionId, page) {
          const { after, limit } = yield* Keyset.ascending(page)
          const rows =
            yield* db.all(sql<TurnRow>`select * from turns where session_id = ${sessionId} and ordinal > ${after}
          ${andState(db, page.state)} order by ordinal limit ${limit + 1}`)
          return Keyset.page(rows.map(toTurn), limit, (turn) => turn.ordinal)
        }),
        find: (turnId) => Effect.map(findRow(turnId), (row) => (row === undefined ? undefined : toTurn(row))),
        queue: queue.add,
        queueAnyway: (session, actor, messageId) =>
          Effect.map(queue.addAnyway(session, actor, messageId), ({ turn }) => turn),
        move,
        acknowledge,
        cancel: fn("TurnStore.cancel")(function* (turnId, actor) {
          const row = yield* existingOf("turn", findRow)(turnId)
          // Asking twice is not another move.
          if (row.state === "cancelling") return toTurn(row)
          yield* turnStates.check(row.state, row.state === waitingTurnState ? "cancelled" : "cancelling")
          return yield* stop(row, actor)
        }),
        cancelAll: fn("TurnStore.cancelAll")(function* (sessionId, actor) {
          const rows = yield* db.all(sql<TurnRow>`select * from turns where session_id = ${sessionId}
            and state in (${cancellable}) order by ordinal desc`)
          yield* Effect.forEach(rows, (row) => stop(row, actor), { discard: true })
        })
      })
    })
  )
}

/** The moves of turns from state to state. `dispatch` starts the next turn of a session. */
const turnMoves = Effect.fnUntraced(function* (dispatch: (sessionId: SessionId) => Effect.Effect<void, never, Commit>) {
  const db = yield* Database
  const journal = yield* Journal
  const sessions = yield* SessionStore
  const listeners = yield* SessionListeners
  const projects = yield* Projects
  const usages = usageStore(db)
  const calls = modelCallStore(db)
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
    if (turn.state === unprovenTurnState && (yield* goesOnByItself(session))) yield* acknowledge(turn.id, system)
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
      yield* journal.afterCommit(observer.turnEnded(turn))
      yield* settle(turn, row.api_key_id)
    } else if (row.state === waitingTurnState)
      yield* journal.afterCommit(observer.turnBegun(turn, toMillis(at) - toMillis(turn.created_at)))
    yield* listeners.turnMoved(turn, actor)
    return turn
  })

  return { acknowledge, findRow, move }
})

/** The stop of a turn that can be cancelled, with its job and the message that waits for it. */
const turnStops = Effect.fnUntraced(function* (move: TurnStore["Type"]["move"]) {
  const jobs = yield* JobStore
  const messages = yield* MessageStore

  return Effect.fnUntraced(function* (row: TurnRow, actor: Actor) {
    const isIdle = yield* jobs.cancel(row.job_id)
    if (row.state !== waitingTurnState) {
      const cancelling = yield* move(row.id, "cancelling", actor)
      // Between two attempts no worker has the turn, so nobody else would end it.
      return isIdle ? yield* move(row.id, "cancelled", system, userCancelled) : cancelling
    }
    yield* messages.cancel(row.message_id)
    return yield* move(row.id, "cancelled", actor, { reason: "user_cancelled" })
  })
})
