import type { Actor } from "@reins/base/domain/Event"
import type { SessionId } from "@reins/base/domain/Ids"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { now } from "@reins/base/domain/Timestamp"
import { Effect } from "effect"
import { JobStore } from "../jobs/JobStore.js"
import { deletionJobKind } from "../jobs/SessionRows.js"
import { SessionLifecycles } from "../sessions/creation/SessionLifecycles.js"
import { SessionListeners } from "../sessions/rows/SessionListeners.js"
import type { SessionRow } from "../sessions/rows/SessionRow.js"
import { isWorking } from "../sessions/rows/SessionRules.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import { sessionRemoval } from "../sessions/SessionRemoval.js"
import { existingOf } from "../store/Existing.js"
import type { SessionDeletion } from "./DeletionsApi.js"
import { receiptStore } from "./Receipts.js"

/**
 * Begins the deletion of a session that the commit holds, and of those that work for it. Gives the receipt of the session. `deleteTree` is refused
 * while one of them works; `deleteAnyway` cancels what they do.
 */
export const makeDeleteTrees = Effect.gen(function* () {
  const sessions = yield* SessionStore
  const lifecycles = yield* SessionLifecycles
  const listeners = yield* SessionListeners
  const jobs = yield* JobStore
  const removal = yield* sessionRemoval
  const receipts = yield* receiptStore
  const held = existingOf("session", sessions.lock)

  const requireRest = Effect.fnUntraced(function* (row: SessionRow, root: SessionRow) {
    if (isWorking(row)) return yield* turnUnderWay(row, root)
    if (yield* listeners.isDelivering(row)) return yield* deliveryUnderWay(row)
  })

  const begin = Effect.fnUntraced(function* (id: SessionId, actor: Actor, deletedWith: SessionId | null) {
    const row = yield* held(id)
    if (row.lifecycle !== "closed") yield* Effect.orDie(lifecycles.close(row, actor))
    for (const job of yield* jobs.liveOf(id)) yield* jobs.cancel(job)
    yield* removal.hide(row, actor, deletedWith)
    const operation = yield* jobs.enqueue({
      kind: deletionJobKind,
      subject: { type: "session", id },
      workspaceId: row.workspace_id,
      payload: {},
      filesOf: id,
      // An obstacle to a deletion passes, or the operator mends it.
      maxAttempts: 1_000_000
    })
    const receipt: SessionDeletion = {
      session_id: id,
      workspace_id: row.workspace_id,
      deleted_with: deletedWith,
      deleted_by: actor,
      state: "deleting",
      operation_id: operation.id,
      job_id: operation.job_id,
      requested_at: yield* now,
      finished_at: null
    }
    yield* receipts.insert(receipt)
    return receipt
  })

  const deleteAnyway = Effect.fnUntraced(function* (root: Pick<SessionRow, "id">, actor: Actor) {
    const below = yield* removal.descendants(root.id)
    const receipt = yield* begin(root.id, actor, null)
    for (const id of below) yield* begin(id, actor, root.id)
    return receipt
  })

  return {
    deleteAnyway,
    deleteTree: Effect.fnUntraced(function* (root: SessionRow, actor: Actor) {
      yield* requireRest(root, root)
      for (const id of yield* removal.descendants(root.id)) yield* requireRest(yield* held(id), root)
      return yield* deleteAnyway(root, actor)
    })
  }
})

const turnUnderWay = (row: SessionRow, root: SessionRow) =>
  new ReinsError({
    code: "turn_active",
    message:
      row.id === root.id
        ? "A turn waits or runs in this session. Cancel it or wait until it has ended, then delete the session."
        : `A turn waits or runs in the session ${row.id}, which works for this one. Cancel it or wait until it has ended, then delete this session.`,
    details: { turn_id: row.turns.active?.id ?? null, queued_turns: row.turns.queued }
  })

const deliveryUnderWay = (row: SessionRow) =>
  new ReinsError({
    code: "delivery_unresolved",
    message: `A delivery of the session ${row.id} is on its way. Wait until it has ended, or cancel it, then delete the session.`,
    details: { state: "executing", reason: null }
  })
