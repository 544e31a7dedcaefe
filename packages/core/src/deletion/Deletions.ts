import { fn } from "@reins/base/base/Traced"
import type { Page, PageRequest } from "@reins/base/domain/Page"
import type { Principal } from "@reins/base/domain/Principal"
import { notFound, type ReinsError } from "@reins/base/domain/ReinsError"
import { Context, Effect, Layer } from "effect"
import { Access, actorOf, type Denied, type Unseen } from "../access/Access.js"
import { worksForAnother } from "../sessions/rows/Refusals.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import type { Command } from "../store/Command.js"
import { Journal } from "../store/Journal.js"
import * as Keyset from "../store/Keyset.js"
import { makeDeleteTrees } from "./DeletionBegin.js"
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
