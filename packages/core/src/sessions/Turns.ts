import { fn } from "@reins/base/base/Traced"
import { requireAll } from "@reins/base/domain/Condition"
import type { Page } from "@reins/base/domain/Page"
import type { Principal } from "@reins/base/domain/Principal"
import { notFound, type ReinsError } from "@reins/base/domain/ReinsError"
import { Context, Effect, Layer } from "effect"
import { actorOf, type Denied, type Unseen } from "../access/Access.js"
import { type Budget, budgetLimits } from "../budgets/Budget.js"
import { BudgetStore } from "../budgets/BudgetStore.js"
import type { Command } from "../store/Command.js"
import { existingOf } from "../store/Existing.js"
import { Journal } from "../store/Journal.js"
import * as Keyset from "../store/Keyset.js"
import { OfferedTools } from "./functions/OfferedTools.js"
import type { TurnPatch } from "./messages/ConversationApi.js"
import { ToolCallStore } from "./questions/ToolCallStore.js"
import { TurnResults } from "./results/TurnResults.js"
import type { SeenSession } from "./rows/SessionRow.js"
import { configuredRules } from "./rows/SessionRules.js"
import { SessionStore } from "./rows/SessionStore.js"
import { type ActionableTurn, holdsQueue, type Turn } from "./rows/Turn.js"
import type { TurnResult } from "./rows/TurnResult.js"
import { type TurnPageRequest, TurnStore } from "./turns/TurnStore.js"
import { sessionBudgets } from "./usage/SessionBudgets.js"

/**
 * The turns of a session, as people look at them, cancel them and go on after them. A turn whose session the principal may not see is
 * `not_found`; one whose session it may see and not change is `forbidden` to a command.
 */
export class Turns extends Context.Tag("@reins/core/sessions/Turns")<
  Turns,
  {
    /** The turns of a session in the order in which they were queued. */
    readonly list: (
      principal: Principal,
      sessionId: string,
      page: TurnPageRequest
    ) => Effect.Effect<Page<ActionableTurn>, Unseen | ReinsError<"invalid_cursor">>
    /** A turn as it stands, with its outcome and its usage once it has ended. */
    readonly get: (principal: Principal, turnId: string) => Effect.Effect<ActionableTurn, Unseen>
    /**
     * Changes the budget of a turn. Calls that wait for it look again. Fails with `invalid_transition` for a turn that has ended, and with
     * `budget_unenforceable` for a budget that would not hold.
     */
    readonly update: (
      principal: Principal,
      turnId: string,
      patch: TurnPatch
    ) => Command<ActionableTurn, Denied | ReinsError<"invalid_transition" | "budget_unenforceable">>
    /**
     * Ends a turn that waits at once, and asks a running one to stop: it is `cancelling` until its agent is gone. Asking again changes
     * nothing. Fails with `invalid_transition` for a turn that has ended.
     */
    readonly cancel: (
      principal: Principal,
      turnId: string
    ) => Command<ActionableTurn, Denied | ReinsError<"invalid_transition">>
    /**
     * Queues a new turn with the message of a turn that has ended and with its budget, of which nothing is spent, and acknowledges that one
     * if it was interrupted. Fails with `invalid_transition` for a turn that has not ended and for a session that is not open, with
     * `quota_exhausted` for a full queue, with `model_required` where no model is chosen, and with `budget_unenforceable` where a budget would
     * not hold.
     */
    readonly retry: (
      principal: Principal,
      turnId: string
    ) => Command<
      ActionableTurn,
      Denied | ReinsError<"invalid_transition" | "quota_exhausted" | "model_required" | "budget_unenforceable">
    >
    /**
     * Lets the queue go on behind an interrupted turn, of which nobody can prove what it did. Repeating it changes nothing. Fails with
     * `invalid_transition` for every other turn.
     */
    readonly acknowledge: (
      principal: Principal,
      turnId: string
    ) => Command<ActionableTurn, Denied | ReinsError<"invalid_transition">>
  }
>() {
  static readonly layer = Layer.effect(
    Turns,
    Effect.gen(function* () {
      const journal = yield* Journal
      const sessions = yield* SessionStore
      const turns = yield* TurnStore
      const { turns: rules } = yield* configuredRules
      const budgets = yield* BudgetStore
      const limits = yield* sessionBudgets
      const results = yield* TurnResults
      const tools = yield* OfferedTools
      const calls = yield* ToolCallStore

      const existing = (turnId: string) =>
        Effect.flatMap(turns.find(turnId), (turn) =>
          turn === undefined ? Effect.fail(notFound()) : Effect.succeed(turn)
        )
      /** The turn as it stands while the commit holds its session, for a principal that may change it. */
      const held = Effect.fnUntraced(function* (principal: Principal, turnId: string) {
        const { session_id } = yield* existing(turnId)
        const session = yield* sessions.writable(principal, session_id)
        return { session, turn: yield* existing(turnId) }
      })
      const { shown, shownAfter, shownWith } = yield* makeShow

      return Turns.of({
        list: fn("Turns.list")(function* (principal, sessionId, page) {
          const session = yield* sessions.readable(principal, sessionId)
          const found = yield* turns.list(session.id, page)
          const known = yield* budgets.findAll(session.budgets.any === 0 ? [] : found.items.map(({ id }) => id))
          const given = yield* results.findAll(found.items.map(({ id }) => id))
          return Keyset.map(found, (turn) =>
            shownWith(principal, session, turn, {
              budget: known.get(turn.id) ?? null,
              result: given.get(turn.id) ?? null
            })
          )
        }),
        get: fn("Turns.get")(function* (principal, turnId) {
          const turn = yield* existing(turnId)
          return yield* shown(principal, yield* sessions.readable(principal, turn.session_id), turn)
        }),
        update: (principal, turnId, { budget }) =>
          journal.command(
            "Turns.update",
            { by: principal, about: { type: "turn", id: turnId } },
            Effect.gen(function* () {
              const { session, turn } = yield* held(principal, turnId)
              yield* requireAll(rules.update, { turn, session })
              if (budget) yield* limits.require(session, actorOf(principal), budget)
              if (budget !== undefined) yield* budgets.set(turn.id, budget)
              return yield* shownAfter(principal, session, turn)
            })
          ),
        cancel: (principal, turnId) =>
          journal.command(
            "Turns.cancel",
            { by: principal, about: { type: "turn", id: turnId } },
            Effect.gen(function* () {
              const { session, turn } = yield* held(principal, turnId)
              yield* requireAll(rules.cancel, { turn, session })
              return yield* shownAfter(principal, session, yield* turns.cancel(turn.id, actorOf(principal)))
            })
          ),
        retry: (principal, turnId) =>
          journal.command(
            "Turns.retry",
            { by: principal, about: { type: "turn", id: turnId } },
            Effect.gen(function* () {
              const { session, turn } = yield* held(principal, turnId)
              yield* requireAll(rules.retry, { turn, session })
              const spent = yield* budgets.find(turn.id)
              const budget = spent === null ? undefined : budgetLimits(spent)
              yield* limits.require(session, actorOf(principal), budget)
              if (holdsQueue(turn)) yield* turns.acknowledge(turn.id, actorOf(principal))
              const queued = yield* turns.queue(session, actorOf(principal), turn.message_id, turn.id)
              if (budget !== undefined) yield* budgets.set(queued.turn.id, budget)
              const wish = yield* results.find(turn.id)
              if (wish !== undefined && wish.schema !== null) yield* results.ask(queued.turn, wish)
              yield* tools.copy(turn.id, queued.turn, "all")
              return yield* shownAfter(principal, session, queued.turn)
            })
          ),
        acknowledge: (principal, turnId) =>
          journal.command(
            "Turns.acknowledge",
            { by: principal, about: { type: "turn", id: turnId } },
            Effect.gen(function* () {
              const { session, turn } = yield* held(principal, turnId)
              yield* requireAll(rules.acknowledge, { turn, session })
              const after = holdsQueue(turn) ? yield* turns.acknowledge(turn.id, actorOf(principal)) : turn
              yield* calls.withdraw(turn.id, actorOf(principal))
              return yield* shownAfter(principal, session, after)
            })
          )
      })
    })
  )
}

/** The turn as a principal reads it. */
const makeShow = Effect.gen(function* () {
  const sessions = yield* SessionStore
  const budgets = yield* BudgetStore
  const results = yield* TurnResults
  const { turnActions } = yield* configuredRules

  /** The turn as the principal reads it, with the session as it was before the command, if there was one. */
  const shownWith = (
    principal: Principal,
    session: SeenSession,
    turn: Turn,
    beside: { readonly budget: Budget | null; readonly result: TurnResult | null }
  ): ActionableTurn => ({
    ...turn,
    ...beside,
    actions: turnActions(principal, session.role, { turn, session })
  })
  const shown = Effect.fnUntraced(function* (principal: Principal, session: SeenSession, turn: Turn) {
    const budget = session.budgets.any === 0 ? null : yield* budgets.find(turn.id)
    const result = (yield* results.findAll([turn.id])).get(turn.id) ?? null
    return shownWith(principal, session, turn, { budget, result })
  })
  /** `shown` after a command that may have changed the session. */
  const shownAfter = Effect.fnUntraced(function* (principal: Principal, { id, role }: SeenSession, turn: Turn) {
    return yield* shown(principal, { ...(yield* existingOf("session", sessions.find)(id)), role }, turn)
  })
  return { shown, shownAfter, shownWith }
})
