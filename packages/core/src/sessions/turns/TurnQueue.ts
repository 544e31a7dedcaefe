import { CoreConfig } from "@reins/base/base/CoreConfig"
import { requireAll } from "@reins/base/domain/Condition"
import type { Actor } from "@reins/base/domain/Event"
import { type JobId, type MessageId, newId, type SessionId, TurnId } from "@reins/base/domain/Ids"
import { now } from "@reins/base/domain/Timestamp"
import { Effect } from "effect"
import { JobStore } from "../../jobs/JobStore.js"
import { Database } from "../../store/Database.js"
import { Journal } from "../../store/Journal.js"
import { MessageStore } from "../messages/MessageStore.js"
import { noUsage } from "../rows/Session.js"
import type { SessionRow } from "../rows/SessionRow.js"
import { queueRoom } from "../rows/SessionRules.js"
import { SessionStore } from "../rows/SessionStore.js"
import { type Turn, waitingTurnState } from "../rows/Turn.js"
import { isHolding, isLive, isWaiting } from "../rows/TurnConditions.js"
import { payingKey } from "../usage/SessionBudgets.js"
import { toRow } from "./TurnRow.js"

/** The kind of the job that runs a turn; its payload is `{turn_id}`. */
export const turnJobKind = "turn.run"

/** The queue of the turns of a session: `add` puts a turn at its end, `addAnyway` does so beyond its limit, `dispatch` starts the first one when its time has come. */
export const turnQueue = Effect.gen(function* () {
  const db = yield* Database
  const journal = yield* Journal
  const jobs = yield* JobStore
  const messages = yield* MessageStore
  const sessions = yield* SessionStore
  const { limits } = yield* CoreConfig
  const sql = db.sql
  const waiting = sql.literal(isWaiting("turns"))
  const room = queueRoom(limits.queuedTurns)

  const firstToStart = db.prepare(
    (sessionId: string) => sql<{ job_id: JobId }>`select turns.job_id from turns
      join sessions on sessions.id = turns.session_id
      where turns.session_id = ${sessionId} and ${waiting} and sessions.lifecycle <> 'closed'
        and not exists (select 1 from turns as other where other.session_id = turns.session_id
          and (${sql.literal(isLive("other"))} or ${sql.literal(isHolding("other"))}))
      order by turns.ordinal limit 1`
  )

  /** Releases the job of the first waiting turn, unless another turn is live or holds the queue. */
  const dispatch = Effect.fnUntraced(function* (sessionId: SessionId) {
    const next = yield* db.first(firstToStart(sessionId))
    if (next !== undefined) yield* jobs.release(next.job_id)
  })

  const add = (session: SessionRow, actor: Actor, messageId: MessageId, retryOf?: TurnId) =>
    Effect.zipRight(requireAll([room], session), addAnyway(session, actor, messageId, retryOf))

  const addAnyway = Effect.fnUntraced(function* (
    session: SessionRow,
    actor: Actor,
    messageId: MessageId,
    retryOf?: TurnId
  ) {
    const id = yield* newId(TurnId)
    const operation = yield* jobs.enqueue({
      kind: turnJobKind,
      subject: { type: "turn", id },
      workspaceId: session.workspace_id,
      payload: { turn_id: id },
      maxAttempts: 5,
      filesOf: session.id,
      held: true,
      isSameWork: true
    })
    const turn: Turn = {
      id,
      session_id: session.id,
      ordinal: yield* sessions.countTurn(session.id),
      message_id: messageId,
      state: waitingTurnState,
      reason: null,
      reason_message: null,
      outcome: null,
      usage: noUsage,
      settings: { provider_id: session.provider_id, model: session.model },
      retry_of_turn_id: retryOf ?? null,
      acknowledged_at: null,
      created_at: yield* now,
      started_at: null,
      finished_at: null
    }
    if (retryOf !== undefined) yield* messages.requeue(messageId)
    yield* db.run(sql`insert into turns ${sql.insert(toRow(turn, actor, operation.job_id, payingKey(session, actor)))}`)
    yield* journal.append(session.id, actor, [
      { type: "turn.queued", payload: { turn }, subjects: { turn_id: id, job_id: operation.job_id } }
    ])
    yield* dispatch(session.id)
    return { turn, operation }
  })

  return { add, addAnyway, dispatch }
})
