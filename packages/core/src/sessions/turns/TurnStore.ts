import { fn } from "@reins/base/base/Traced"
import type { Actor } from "@reins/base/domain/Event"
import type { MessageId, SessionId, TurnId } from "@reins/base/domain/Ids"
import type { Page, StatePageRequest } from "@reins/base/domain/Page"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import { Context, Effect, Layer } from "effect"
import type { OperationRef } from "../../jobs/Job.js"
import { JobStore } from "../../jobs/JobStore.js"
import type { Commit } from "../../store/Commit.js"
import { Database } from "../../store/Database.js"
import { existingOf } from "../../store/Existing.js"
import * as Keyset from "../../store/Keyset.js"
import { andState, stateList } from "../../store/StateList.js"
import type { SessionRow } from "../rows/SessionRow.js"
import { cancellableTurnStates, type Turn, type TurnState, turnStates, waitingTurnState } from "../rows/Turn.js"
import { turnMoves, turnsActor } from "./TurnMoves.js"
import { turnQueue } from "./TurnQueue.js"
import { type accessLost, stopOf, type TurnEnd, type TurnRow, toTurn } from "./TurnRow.js"

/** A page of the turns of a session, oldest first unless it says otherwise. */
export interface TurnPageRequest extends StatePageRequest<TurnState> {
  readonly order?: "oldest" | "newest"
}

/**
 * The rows of turns, their states, and the events that tell of them. The turns of a session run one at a time, first in, first out. An
 * interrupted turn holds the queue until it is acknowledged, which the store does at once where the project version says
 * `auto_acknowledge`.
 */
export class TurnStore extends Context.Tag("@reins/core/sessions/turns/TurnStore")<
  TurnStore,
  {
    /** The turns of a session in the order in which they were queued. */
    readonly list: (
      sessionId: SessionId,
      page: TurnPageRequest
    ) => Effect.Effect<Page<Turn>, ReinsError<"invalid_cursor">>
    /** The turn as it stands; undefined when there is none. */
    readonly find: (turnId: string) => Effect.Effect<Turn | undefined>
    /** The actor who has asked for a turn that tries another one again; undefined for a turn of its message. */
    readonly askerOf: (turnId: string) => Effect.Effect<Actor | undefined>
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
     * the session. `why` is absent where somebody has asked for it.
     */
    readonly cancel: (
      turnId: TurnId,
      actor: Actor,
      why?: typeof accessLost
    ) => Effect.Effect<Turn, ReinsError<"invalid_transition">, Commit>
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
          const { key, limit } = yield* Keyset.byOrdinal(page)
          const isNewestFirst = page.order === "newest"
          const [beyond, order] = isNewestFirst ? [sql`<`, sql`desc`] : [sql`>`, sql`asc`]
          const from = key ?? (isNewestFirst ? Keyset.maxOrdinal : 0)
          const rows =
            yield* db.all(sql<TurnRow>`select * from turns where session_id = ${sessionId} and ordinal ${beyond} ${from}
          ${andState(db, page.state)} order by ordinal ${order} limit ${limit + 1}`)
          return Keyset.page(rows.map(toTurn), limit, (turn) => turn.ordinal)
        }),
        find: (turnId) => Effect.map(findRow(turnId), (row) => (row === undefined ? undefined : toTurn(row))),
        askerOf: (turnId) =>
          Effect.map(findRow(turnId), (row): Actor | undefined =>
            row?.asked_by ? JSON.parse(row.asked_by) : undefined
          ),
        queue: queue.add,
        queueAnyway: (session, actor, messageId) =>
          Effect.map(queue.addAnyway(session, actor, messageId), ({ turn }) => turn),
        move,
        acknowledge,
        cancel: fn("TurnStore.cancel")(function* (turnId, actor, why) {
          const row = yield* existingOf("turn", findRow)(turnId)
          // Asking twice is not another move.
          if (row.state === "cancelling") return toTurn(row)
          yield* turnStates.check(row.state, row.state === waitingTurnState ? "cancelled" : "cancelling")
          return yield* stop(row, actor, why)
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

/** The stop of a turn that can be cancelled, with its job. */
const turnStops = Effect.fnUntraced(function* (move: TurnStore["Type"]["move"]) {
  const jobs = yield* JobStore

  return Effect.fnUntraced(function* (row: TurnRow, actor: Actor, why?: typeof accessLost) {
    const isIdle = yield* jobs.cancel(row.job_id)
    if (row.state !== waitingTurnState) {
      const cancelling = yield* move(row.id, "cancelling", actor, why)
      // Between two attempts no worker has the turn, so nobody else would end it.
      return isIdle ? yield* move(row.id, "cancelled", turnsActor, stopOf(cancelling)) : cancelling
    }
    return yield* move(row.id, "cancelled", actor, why ?? { reason: "user_cancelled" })
  })
})
