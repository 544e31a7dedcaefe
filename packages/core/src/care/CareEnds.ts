import { Effect, Layer } from "effect"
import { nano } from "../budgets/BudgetRow.js"
import { BudgetStore } from "../budgets/BudgetStore.js"
import type { Delivery, DeliveryReason } from "../changes/Delivery.js"
import { DeliveryListeners } from "../changes/DeliveryListeners.js"
import { WatchStore } from "../changes/looks/WatchStore.js"
import { MergeRequestStore } from "../changes/MergeRequestStore.js"
import { JobStore } from "../jobs/JobStore.js"
import { SessionListeners } from "../sessions/SessionListeners.js"
import { SessionStore } from "../sessions/SessionStore.js"
import { type Turn, turnStates } from "../sessions/Turn.js"
import type { CareReason } from "./Care.js"
import { type CareRow, CareStore, policyOf } from "./CareStore.js"
import { deliverCareKind } from "./DeliverJob.js"
import { makePost } from "./Posting.js"
import { makeSummary } from "./Summary.js"
import { makeEndWork, makeFindWork } from "./Work.js"

/** Lets attentions follow their turns and deliveries, in the commits that move these. */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const turnMoved = yield* makeTurnMoved
    const { delivered, undelivered } = yield* makeDeliveryEnds
    yield* (yield* SessionListeners).register({ turnMoved })
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

  return Effect.fnUntraced(function* (turn: Turn) {
    if (!turnStates.isTerminal(turn.state)) return
    const attention = yield* store.attentionOfTurn(turn.id)
    if (attention === undefined) {
      for (const id of yield* store.watchedOf(turn.session_id)) yield* watches.ring(id, false)
      return
    }
    const locked = yield* store.lock(attention.merge_request_id)
    if (locked !== undefined) yield* spend(locked, turn)
    const work = yield* find(attention.id, "turning")
    if (work === undefined) return
    if (turn.state !== "succeeded") return yield* end(attention.id, "turn_failed")
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

/** Gives what follows from the ends of deliveries. */
const makeDeliveryEnds = Effect.gen(function* () {
  const store = yield* CareStore
  const requests = yield* MergeRequestStore
  const watches = yield* WatchStore
  const end = yield* makeEndWork
  const post = yield* makePost
  const summaryOf = yield* makeSummary

  return {
    delivered: Effect.fnUntraced(function* (delivery: Delivery) {
      const attention = yield* store.attentionOfDelivery(delivery.id)
      if (attention?.state !== "delivering") return
      const row = yield* store.lock(attention.merge_request_id)
      const request = yield* requests.find(attention.merge_request_id)
      if (row === undefined || request === undefined) return
      const ended = yield* store.move(attention, "done", { commit_sha: delivery.commit })
      const isIts = row.state === "working" && row.attention_id === attention.id
      const now = isIts ? yield* store.change(row, { state: "watching", attention_id: null }) : row
      yield* store.tell(request, now, "merge_request.care_delivered", ended)
      yield* post(request, now, { id: ended.id, attention: ended, text: yield* summaryOf(ended) })
      yield* watches.ring(request.id, false)
    }),
    undelivered: Effect.fnUntraced(function* (delivery: Delivery) {
      const attention = yield* store.attentionOfDelivery(delivery.id)
      if (attention?.state !== "delivering") return
      const reason = delivery.reason === null ? undefined : reasons[delivery.reason]
      yield* end(attention.id, reason ?? "push_refused")
    })
  }
})

const reasons: Partial<Record<DeliveryReason, CareReason>> = {
  remote_head_changed: "head_keeps_moving",
  merge_conflict: "merge_conflict",
  branch_gone: "branch_gone",
  repository_not_found: "branch_gone",
  redirected: "branch_gone",
  auth_required: "auth_required",
  empty_changeset: "no_change"
}
