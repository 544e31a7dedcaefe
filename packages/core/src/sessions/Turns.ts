import { Context, Effect, Layer } from "effect"
import { actorOf, systemActor } from "../access/Access.js"
import { CoreConfig } from "../base/CoreConfig.js"
import { fn } from "../base/Traced.js"
import type { Actor, EventType, NewEvent } from "../domain/Event.js"
import { type JobId, type MessageId, newId, type SessionId, TurnId } from "../domain/Ids.js"
import type { Interaction } from "../domain/Interaction.js"
import type { OperationRef } from "../domain/Job.js"
import type { Page, PageRequest } from "../domain/Page.js"
import type { Principal } from "../domain/Principal.js"
import { notFound, ReinsError } from "../domain/ReinsError.js"
import { addUsage, noUsage, type Usage } from "../domain/Session.js"
import { now, type Timestamp } from "../domain/Timestamp.js"
import { type Turn, type TurnReason, type TurnState, turnStates } from "../domain/Turn.js"
import { JobStore } from "../jobs/JobStore.js"
import { Projects } from "../projects/Projects.js"
import type { Command } from "../store/Command.js"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import { Journal } from "../store/Journal.js"
import * as Keyset from "../store/Keyset.js"
import { SessionListeners } from "./SessionListeners.js"
import { type SessionRow, SessionStore } from "./SessionStore.js"

/** The kind of the job that runs a turn; its payload is `{turn_id}`. */
export const turnJobKind = "turn.run"

const system = systemActor("turns")

/** How a turn ends that was cancelled after it had left the queue. */
export const userCancelled = { reason: "user_cancelled", reasonMessage: "The turn was cancelled." } as const

export interface TurnEnd {
  readonly reason?: TurnReason
  readonly reasonMessage?: string
  readonly outcome?: Turn["outcome"]
  readonly usage?: Usage
  /** What the turn begins to wait for, or has waited for: given with moves to `requires_action` and back to `running`, and only then. */
  readonly interaction?: Interaction
}

/**
 * The turns of a session, one at a time, first in, first out. The only place that moves a turn from one state to another. An
 * interrupted turn holds the queue until it is acknowledged, which the service does at once where the project version says
 * `auto_acknowledge`.
 */
export class Turns extends Context.Tag("@reins/core/sessions/Turns")<
  Turns,
  {
    /** Oldest first. */
    readonly list: (principal: Principal, sessionId: string, page: PageRequest) => Effect.Effect<Page<Turn>, ReinsError>
    readonly get: (principal: Principal, turnId: string) => Effect.Effect<Turn, ReinsError>
    /** A waiting turn ends at once; a running one is asked to stop. Fails with `invalid_transition` for one that has ended. */
    readonly cancel: (principal: Principal, turnId: string) => Command<Turn, ReinsError>
    /** A new turn with the message of one that has ended; an interrupted one is acknowledged by it. */
    readonly retry: (principal: Principal, turnId: string) => Command<Turn, ReinsError>
    readonly acknowledge: (principal: Principal, turnId: string) => Command<Turn, ReinsError>
    /** Queues a turn for a message and starts it when its time has come. The commit holds the session. */
    readonly queue: (
      session: SessionRow,
      actor: Actor,
      messageId: MessageId,
      retryOf?: TurnId
    ) => Effect.Effect<{ readonly turn: Turn; readonly operation: OperationRef }, ReinsError, Commit>
    readonly find: (turnId: string) => Effect.Effect<Turn | undefined>
    /** Moves a turn and writes its event; a move that ends it starts the next one. Other moves than drawn die. */
    readonly move: (turnId: TurnId, to: TurnState, actor: Actor, end?: TurnEnd) => Effect.Effect<Turn, never, Commit>
    /** Cancels whatever waits or runs. The commit holds the session. */
    readonly cancelAll: (sessionId: SessionId, actor: Actor) => Effect.Effect<void, never, Commit>
  }
>() {
  static readonly layer = Layer.effect(
    Turns,
    Effect.gen(function* () {
      const db = yield* Database
      const journal = yield* Journal
      const jobs = yield* JobStore
      const store = yield* SessionStore
      const listeners = yield* SessionListeners
      const projects = yield* Projects
      const { limits } = yield* CoreConfig
      const sql = db.sql

      const findRow = (id: string) => db.first(sql<TurnRow>`select * from turns where id = ${id}`)

      /** The turn and its session, held until the commit is through. */
      const held = Effect.fnUntraced(function* (principal: Principal, turnId: string) {
        const unheld = yield* findRow(turnId)
        if (unheld === undefined) return yield* notFound()
        const session = yield* store.writable(principal, unheld.session_id)
        const row = yield* findRow(turnId)
        return row === undefined ? yield* notFound() : { session, row }
      })

      const dispatch = Effect.fnUntraced(function* (sessionId: SessionId) {
        const session = yield* store.find(sessionId)
        if (
          session === undefined ||
          session.active_turn_id !== null ||
          session.held_turns > 0 ||
          session.lifecycle === "closed"
        )
          return
        const next = yield* db.first(sql<{ job_id: JobId }>`select job_id from turns
        where session_id = ${sessionId} and state = 'queued' order by ordinal limit 1`)
        if (next !== undefined) yield* jobs.release(next.job_id)
      })

      const acknowledge = Effect.fnUntraced(function* (turnId: TurnId, actor: Actor) {
        yield* db.run(sql`update turns set acknowledged_at = ${yield* now} where id = ${turnId}`)
        const row = yield* findRow(turnId)
        if (row === undefined) return yield* Effect.dieMessage(`no turn ${turnId}`)
        const turn = toTurn(row)
        yield* journal.append(row.session_id, actor, [
          { type: "turn.acknowledged", payload: { turn }, subjects: { turn_id: row.id } }
        ])
        yield* dispatch(row.session_id)
        return turn
      })

      /** The project version that the session was made from says that nobody needs to look at an interrupted turn. */
      const goesOnByItself = Effect.fnUntraced(function* (session: SessionRow) {
        if (session.project_version_id === null) return false
        const version = yield* Effect.orDie(
          projects.resolve(session.workspace_id, { versionId: session.project_version_id })
        )
        return version.spec.auto_acknowledge === true
      })

      const move = Effect.fnUntraced(function* (turnId: TurnId, to: TurnState, actor: Actor, end: TurnEnd = {}) {
        const unheld = yield* findRow(turnId)
        if (unheld !== undefined) yield* store.lock(unheld.session_id)
        const row = yield* findRow(turnId)
        if (row === undefined) return yield* Effect.dieMessage(`no turn ${turnId}`)
        yield* Effect.orDie(turnStates.check(row.state, to))
        const at = yield* now
        const usage = end.usage ?? JSON.parse(row.usage)
        yield* db.run(
          sql`update turns set ${sql.update({
            state: to,
            reason: end.reason ?? null,
            reason_message: end.reasonMessage ?? null,
            outcome: end.outcome === undefined ? row.outcome : JSON.stringify(end.outcome),
            usage: JSON.stringify(usage),
            started_at: to === "running" ? (row.started_at ?? at) : row.started_at,
            finished_at: turnStates.isTerminal(to) ? at : null
          })} where id = ${turnId}`
        )
        const turn = yield* Effect.map(findRow(turnId), (moved) => toTurn(moved ?? row))
        yield* journal.append(row.session_id, actor, [
          { ...eventOf(row.state, turn, end.interaction), subjects: { turn_id: turnId, job_id: row.job_id } }
        ])
        const session = turnStates.isTerminal(to) ? yield* store.find(row.session_id) : undefined
        if (session !== undefined) {
          yield* store.change(session.id, { usage: JSON.stringify(addUsage(JSON.parse(session.usage), usage)) })
          if (to === "interrupted" && (yield* goesOnByItself(session))) yield* acknowledge(turnId, system)
          else yield* dispatch(row.session_id)
        }
        yield* listeners.turnMoved(turn, actor)
        return turn
      })

      const stop = Effect.fnUntraced(function* (row: TurnRow, actor: Actor) {
        const isIdle = yield* jobs.cancel(row.job_id)
        if (row.state !== "queued") {
          const cancelling = yield* move(row.id, "cancelling", actor)
          // Between two attempts nobody works on the turn who could end it.
          return isIdle ? yield* move(row.id, "cancelled", system, userCancelled) : cancelling
        }
        yield* db.run(sql`update messages set state = 'cancelled' where id = ${row.message_id} and state = 'queued'`)
        return yield* move(row.id, "cancelled", actor, { reason: "user_cancelled" })
      })

      const queue = Effect.fnUntraced(function* (
        session: SessionRow,
        actor: Actor,
        messageId: MessageId,
        retryOf?: TurnId
      ) {
        if (session.queued_turns >= limits.queuedTurns) {
          return yield* new ReinsError({
            code: "quota_exhausted",
            message: `${limits.queuedTurns} turns wait in this session already. Wait until some have run, or cancel them.`,
            details: { queued_turns: session.queued_turns, limit: limits.queuedTurns },
            retryAfterSeconds: 10
          })
        }
        const id = yield* newId(TurnId)
        const operation = yield* jobs.enqueue({
          kind: turnJobKind,
          subject: { type: "turn", id },
          workspaceId: session.workspace_id,
          payload: { turn_id: id },
          maxAttempts: 5,
          held: true
        })
        const count = yield* db.first(sql<{ turn_count: number }>`update sessions set turn_count = turn_count + 1
        where id = ${session.id} returning turn_count`)
        const turn: Turn = {
          id,
          session_id: session.id,
          ordinal: count?.turn_count ?? 1,
          message_id: messageId,
          state: "queued",
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
        yield* db.run(
          sql`insert into turns ${sql.insert({
            ...turn,
            outcome: null,
            usage: JSON.stringify(turn.usage),
            settings: JSON.stringify(turn.settings),
            job_id: operation.job_id
          })}`
        )
        yield* journal.append(session.id, actor, [
          { type: "turn.queued", payload: { turn }, subjects: { turn_id: id, job_id: operation.job_id } }
        ])
        yield* dispatch(session.id)
        return { turn, operation }
      })

      return Turns.of({
        list: fn("Turns.list")(function* (principal, sessionId, page) {
          const session = yield* store.readable(principal, sessionId)
          const { after, limit } = yield* Keyset.ascending(page)
          const rows =
            yield* db.all(sql<TurnRow>`select * from turns where session_id = ${session.id} and ordinal > ${after}
          order by ordinal limit ${limit + 1}`)
          return Keyset.page(rows.map(toTurn), limit, (turn) => turn.ordinal)
        }),
        get: fn("Turns.get")(function* (principal, turnId) {
          const row = yield* findRow(turnId)
          if (row === undefined) return yield* notFound()
          yield* store.readable(principal, row.session_id)
          return toTurn(row)
        }),
        cancel: (principal, turnId) =>
          journal.command(
            "Turns.cancel",
            Effect.gen(function* () {
              const { row } = yield* held(principal, turnId)
              // Asking twice is not another move.
              if (row.state === "cancelling") return toTurn(row)
              yield* turnStates.check(row.state, row.state === "queued" ? "cancelled" : "cancelling")
              return yield* stop(row, actorOf(principal))
            })
          ),
        retry: (principal, turnId) =>
          journal.command(
            "Turns.retry",
            Effect.gen(function* () {
              const { row, session } = yield* held(principal, turnId)
              if (!turnStates.isTerminal(row.state)) return yield* notEnded(row)
              if (session.lifecycle !== "open") return yield* notOpen(session)
              if (row.state === "interrupted" && row.acknowledged_at === null)
                yield* acknowledge(row.id, actorOf(principal))
              return (yield* queue(session, actorOf(principal), row.message_id, row.id)).turn
            })
          ),
        acknowledge: (principal, turnId) =>
          journal.command(
            "Turns.acknowledge",
            Effect.gen(function* () {
              const { row } = yield* held(principal, turnId)
              if (row.state !== "interrupted") {
                return yield* new ReinsError({
                  code: "invalid_transition",
                  message: `Only an interrupted turn is acknowledged; this one is ${row.state}.`,
                  details: { resource: "turn", from: row.state }
                })
              }
              return row.acknowledged_at === null ? yield* acknowledge(row.id, actorOf(principal)) : toTurn(row)
            })
          ),
        queue,
        move,
        find: (turnId) => Effect.map(findRow(turnId), (row) => (row === undefined ? undefined : toTurn(row))),
        cancelAll: fn("Turns.cancelAll")(function* (sessionId, actor) {
          const rows = yield* db.all(sql<TurnRow>`select * from turns where session_id = ${sessionId}
          and state in ('queued', 'preparing', 'running', 'requires_action') order by ordinal desc`)
          yield* Effect.forEach(rows, (row) => stop(row, actor), { discard: true })
        })
      })
    })
  )
}

/** A retry is a new turn, not a move of the old one, so the moves that are drawn do not say whether it is allowed. */
const notEnded = (row: TurnRow): ReinsError =>
  new ReinsError({
    code: "invalid_transition",
    message: `Only a turn that has ended is tried again; this one is ${row.state}.`,
    details: { resource: "turn", from: row.state }
  })

/** A session that is archived or closed takes no work. */
export const notOpen = (session: SessionRow): ReinsError =>
  new ReinsError({
    code: "invalid_transition",
    message:
      session.lifecycle === "archived"
        ? "The session is archived. Unarchive it before sending it work."
        : "The session is closed for good. Create a new one.",
    details: { resource: "session", from: session.lifecycle }
  })

const eventTypes = {
  queued: "turn.queued",
  preparing: "turn.preparing",
  running: "turn.started",
  cancelling: "turn.cancel_requested",
  succeeded: "turn.succeeded",
  failed: "turn.failed",
  cancelled: "turn.cancelled",
  interrupted: "turn.interrupted"
} as const satisfies Record<Exclude<TurnState, "requires_action">, EventType>

const eventOf = (from: TurnState, turn: Turn, interaction: Interaction | undefined): NewEvent => {
  const { state } = turn
  if (state === "requires_action" || (state === "running" && from === "requires_action")) {
    if (interaction === undefined) throw new TypeError("a turn waits for an interaction only")
    return actionEvent(turn, interaction)
  }
  return { type: eventTypes[state], payload: { turn } }
}

/** What is told of a turn when something is asked or resolved. */
export const actionEvent = (turn: Turn, interaction: Interaction): NewEvent => ({
  type: interaction.state === "pending" ? "turn.action_required" : "turn.action_resolved",
  payload: { turn, interaction }
})

interface TurnRow extends Omit<Turn, "outcome" | "usage" | "settings"> {
  readonly job_id: JobId
  readonly outcome: string | null
  readonly usage: string
  readonly settings: string
  readonly acknowledged_at: Timestamp | null
}

const toTurn = ({ job_id: _, outcome, settings, usage, ...row }: TurnRow): Turn => ({
  ...row,
  outcome: outcome === null ? null : JSON.parse(outcome),
  usage: JSON.parse(usage),
  settings: JSON.parse(settings)
})
