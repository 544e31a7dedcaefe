import { Effect, Layer } from "effect"
import { nano } from "../budgets/BudgetRow.js"
import { BudgetStore } from "../budgets/BudgetStore.js"
import { DeliveryListeners } from "../deliveries/DeliveryListeners.js"
import { JobStore } from "../jobs/JobStore.js"
import { WatchStore } from "../requests/rows/WatchStore.js"
import { SessionListeners } from "../sessions/rows/SessionListeners.js"
import type { SessionRow } from "../sessions/rows/SessionRow.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import { type Turn, turnStates } from "../sessions/rows/Turn.js"
import { type CareRow, CareStore, policyOf } from "./CareStore.js"
import { makeDeliveryEnds } from "./DeliveryEnds.js"
import { makeFollowTurn } from "./EveryTurn.js"
import { followRows } from "./FollowRows.js"
import { makeEndWork, makeFindWork } from "./Work.js"

/** The kind of the job that judges what a turn has made, and has it delivered. */
export const deliverCareKind = "care.deliver"

/** Lets attentions follow their turns and deliveries, in the commits that move these. */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const turnMoved = yield* makeTurnMoved
    const { delivered, undelivered } = yield* makeDeliveryEnds
    yield* (yield* SessionListeners).register({ turnMoved, wantsCapture: yield* makeWantsCapture })
    yield* (yield* DeliveryListeners).register({ delivered, undelivered })
  })
)

/** Gives what follows from the end of a turn. A care that has waited for the turn of somebody else decides anew. */
const makeTurnMoved = Effect.gen(function* () {
  const store = yield* CareStore
  const sessions = yield* SessionStore
  const jobs = yield* JobStore
  const watches = yield* WatchStore
  const find = yield* makeFindWork
  const end = yield* makeEndWork
  const spend = yield* makeSpend
  const follow = yield* makeFollowTurn
  const budgets = yield* BudgetStore

  /** True for a turn that has used up what care gave it, and not the budget of its session or workspace. */
  const isSpent = (turn: Turn) =>
    turn.reason === "budget_exhausted"
      ? Effect.map(budgets.find(turn.id), (budget) => budget?.exhausted === true)
      : Effect.succeed(false)

  return Effect.fnUntraced(function* (turn: Turn) {
    if (!turnStates.isTerminal(turn.state)) return
    const attention = yield* store.attentionOfTurn(turn.id)
    if (attention === undefined) {
      if (turn.state === "succeeded") yield* follow(turn)
      for (const id of yield* store.watchedOf(turn.session_id)) yield* watches.ring(id, false)
      return
    }
    const locked = yield* store.lock(attention.merge_request_id)
    if (locked !== undefined) yield* spend(locked, turn)
    const work = yield* find(attention.id, "turning")
    if (work === undefined) return
    if (turn.state !== "succeeded")
      return yield* end(attention.id, (yield* isSpent(turn)) ? "budget_exhausted" : "turn_failed")
    const session = yield* sessions.find(turn.session_id)
    if (session === undefined) return
    yield* store.move(work.attention, "delivering")
    yield* jobs.enqueue({
      kind: deliverCareKind,
      subject: { type: "attention", id: attention.id },
      workspaceId: session.workspace_id,
      payload: {},
      filesOf: session.id,
      maxAttempts: 8
    })
  })
})

/** Gives the function that wants the work of a turn sealed, whatever its session says. That is what care may deliver. */
const makeWantsCapture = Effect.gen(function* () {
  const store = yield* CareStore
  const { caredOf } = yield* followRows
  return Effect.fnUntraced(function* ({ id }: SessionRow) {
    for (const requestId of yield* caredOf(id)) {
      const row = yield* store.find(requestId)
      if (row !== undefined && (row.state === "working" || policyOf(row).deliver === "every_turn")) return true
    }
    return false
  })
})

/** Counts what a turn has spent. Without a budget nobody asks. */
const makeSpend = Effect.gen(function* () {
  const store = yield* CareStore
  const budgets = yield* BudgetStore
  return Effect.fnUntraced(function* (row: CareRow, turn: Turn) {
    const budget = policyOf(row).budget === null ? null : yield* budgets.find(turn.id)
    if (budget === null) return
    const { spent_cost_usd, spent_tokens } = budget
    yield* store.change(row, {
      spent_tokens: row.spent_tokens + spent_tokens,
      ...(spent_cost_usd !== null && { spent_nano_usd: (row.spent_nano_usd ?? 0) + Math.round(spent_cost_usd * nano) })
    })
  })
})
