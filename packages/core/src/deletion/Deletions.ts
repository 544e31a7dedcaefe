import { Context, Effect, Layer } from "effect"
import { Access, actorOf, type Denied, type Unseen } from "../access/Access.js"
import { fn } from "../base/Traced.js"
import type { Actor } from "../domain/Event.js"
import type { SessionId } from "../domain/Ids.js"
import type { Page, PageRequest } from "../domain/Page.js"
import type { Principal } from "../domain/Principal.js"
import { notFound, ReinsError } from "../domain/ReinsError.js"
import { now } from "../domain/Timestamp.js"
import { JobStore } from "../jobs/JobStore.js"
import { deletionJobKind } from "../jobs/SessionRows.js"
import { worksForAnother } from "../sessions/Refusals.js"
import { SessionLifecycles } from "../sessions/SessionLifecycles.js"
import { SessionListeners } from "../sessions/SessionListeners.js"
import { sessionRemoval } from "../sessions/SessionRemoval.js"
import type { SessionRow } from "../sessions/SessionRow.js"
import { isWorking } from "../sessions/SessionRules.js"
import { SessionStore } from "../sessions/SessionStore.js"
import type { Command } from "../store/Command.js"
import { existingOf } from "../store/Existing.js"
import { Journal } from "../store/Journal.js"
import * as Keyset from "../store/Keyset.js"
import type { SessionDeletion } from "./DeletionsApi.js"
import { receiptStore } from "./Receipts.js"

/** The session is not in a state in which it may be deleted. */
export type Undeletable = ReinsError<"delivery_unresolved" | "invalid_transition" | "turn_active">

/** Deletes sessions for good. A receipt says who did it, and when. */
export class Deletions extends Context.Tag("@reins/core/deletion/Deletions")<
  Deletions,
  {
    /**
     * Takes a session, and the sessions that work for it, from everybody's sight, and has a job delete all that is in them. A session that is deleted
     * already gives its receipt. Fails with `turn_active` while one of them has a turn, and with `delivery_unresolved` while one has a delivery on its
     * way. Fails with `invalid_transition` for a session that works for another one.
     */
    readonly deleteSession: (principal: Principal, sessionId: string) => Command<SessionDeletion, Denied | Undeletable>
    /** The receipt of a session. Fails with `not_found` for a session that is not deleted. */
    readonly get: (principal: Principal, sessionId: string) => Effect.Effect<SessionDeletion, Unseen>
    /** The receipts of a workspace, the newest session first. */
    readonly list: (
      principal: Principal,
      workspaceId: string,
      page: PageRequest
    ) => Effect.Effect<Page<SessionDeletion>, Unseen | ReinsError<"invalid_cursor">>
  }
>() {
  static readonly layer = Layer.effect(
    Deletions,
    Effect.gen(function* () {
      const access = yield* Access
      const journal = yield* Journal
      const sessions = yield* SessionStore
      const receipts = yield* receiptStore
      const { deleteTree } = yield* makeDeleteTrees

      return Deletions.of({
        deleteSession: (principal, sessionId) =>
          journal.command(
            "Deletions.deleteSession",
            { by: principal, about: { type: "session", id: sessionId } },
            Effect.gen(function* () {
              const receipt = yield* receipts.find(sessionId)
              if (receipt !== undefined) {
                yield* access.write(principal, receipt.workspace_id)
                return receipt
              }
              const row = yield* sessions.writable(principal, sessionId)
              if (row.lineage.parent_session_id !== null) return yield* worksForAnother(row.lineage.parent_session_id)
              return yield* deleteTree(row, actorOf(principal))
            })
          ),
        get: fn("Deletions.get")(function* (principal, sessionId) {
          const receipt = yield* receipts.find(sessionId)
          if (receipt === undefined) return yield* notFound()
          yield* access.read(principal, receipt.workspace_id)
          return receipt
        }),
        list: fn("Deletions.list")(function* (principal, workspaceId, request) {
          yield* access.read(principal, workspaceId)
          const { before, limit } = yield* Keyset.descending(request)
          const found = yield* receipts.list(workspaceId, { before, limit: limit + 1 })
          return Keyset.page(found, limit, (receipt) => receipt.session_id)
        })
      })
    })
  )
}

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
