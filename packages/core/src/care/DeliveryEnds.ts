import { Effect } from "effect"
import type { Delivery, DeliveryReason } from "../deliveries/Delivery.js"
import { MergeRequestStore } from "../requests/rows/MergeRequestStore.js"
import { WatchStore } from "../requests/rows/WatchStore.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import type { CareReason } from "./Care.js"
import { type AttentionRow, CareStore } from "./CareStore.js"
import { makeFollowLater, makeGoOn } from "./EveryTurn.js"
import { followRows } from "./FollowRows.js"
import { makePost } from "./Posting.js"
import { makeSummary } from "./Summary.js"
import { makeEndWork } from "./Work.js"

/** Gives what follows from the ends of deliveries. Each does nothing for a delivery that no attention waits for. */
export const makeDeliveryEnds = Effect.gen(function* () {
  const store = yield* CareStore
  const end = yield* makeEndWork
  const finish = yield* makeFinish
  const followUnasked = yield* makeFollowUnasked

  const waitingFor = (delivery: Delivery) =>
    Effect.map(store.attentionsOfDelivery(delivery.id), (all) => all.filter(({ state }) => state === "delivering"))

  return {
    delivered: Effect.fnUntraced(function* (delivery: Delivery) {
      for (const attention of yield* waitingFor(delivery)) yield* finish(attention, delivery)
      yield* followUnasked(delivery)
    }),
    undelivered: Effect.fnUntraced(function* (delivery: Delivery) {
      for (const { follows, id } of yield* waitingFor(delivery)) {
        const reason = delivery.reason === null ? undefined : reasons[delivery.reason]
        // A turn without any news for the branch is no reason for a person to act.
        if (follows === 1 && reason === "no_change") yield* end(id, undefined)
        else yield* end(id, reason ?? "push_refused")
      }
      yield* followUnasked(delivery)
    })
  }
})

/** Gives the end of an attention whose commit is on the branch. One comment tells of a turn of care; the commit tells of any other. */
const makeFinish = Effect.gen(function* () {
  const store = yield* CareStore
  const requests = yield* MergeRequestStore
  const watches = yield* WatchStore
  const goOn = yield* makeGoOn
  const post = yield* makePost
  const summaryOf = yield* makeSummary
  return Effect.fnUntraced(function* (attention: AttentionRow, delivery: Delivery) {
    const row = yield* store.lock(attention.merge_request_id)
    const request = yield* requests.find(attention.merge_request_id)
    if (row === undefined || request === undefined) return
    const ended = yield* store.move(attention, "done", { commit_sha: delivery.commit })
    const isIts = row.state === "working" && row.attention_id === attention.id
    const now = isIts ? yield* store.change(row, { state: "watching", attention_id: null }) : row
    yield* store.tell(request, now, "merge_request.care_delivered", ended)
    if (ended.follows !== 1)
      yield* post(request, now, { id: ended.id, attention: ended, text: yield* summaryOf(ended) })
    yield* goOn(request, now)
    yield* watches.ring(request.id, false)
  })
})

/** Gives the function that goes on with the work of turns that has waited for any delivery to end. */
const makeFollowUnasked = Effect.gen(function* () {
  const store = yield* CareStore
  const sessions = yield* SessionStore
  const { unasked } = yield* followRows
  const followLater = yield* makeFollowLater
  return Effect.fnUntraced(function* (delivery: Delivery) {
    const ids = yield* unasked(delivery.session_id)
    const session = ids.length === 0 ? undefined : yield* sessions.find(delivery.session_id)
    for (const id of ids) {
      const attention = yield* store.attention(id)
      if (attention !== undefined && session !== undefined) yield* followLater(attention, session.workspace_id)
    }
  })
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
