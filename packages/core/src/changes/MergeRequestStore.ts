import type { Fragment } from "@effect/sql/Statement"
import { Context, Effect, Layer } from "effect"
import { fn } from "../base/Traced.js"
import type { Actor, EventType } from "../domain/Event.js"
import type { MergeRequestId } from "../domain/Ids.js"
import {
  type MergeRequest,
  type MergeRequestReason,
  type MergeRequestState,
  mergeRequestStates
} from "../domain/MergeRequest.js"
import { now } from "../domain/Timestamp.js"
import type { RemoteMergeRequest } from "../forge/Forge.js"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import { Journal } from "../store/Journal.js"

export type NewMergeRequest = Pick<
  MergeRequest,
  | "id"
  | "delivery_id"
  | "changeset_id"
  | "session_id"
  | "connection_id"
  | "forge"
  | "repository"
  | "head_branch"
  | "base_branch"
  | "title"
  | "description"
  | "draft"
>

/** Why something did not happen, in a closed code where there is one and in words. */
export interface Declined {
  readonly reason: MergeRequestReason | null
  readonly message: string
}

/** The rows of merge requests and the events that tell of them. */
export class MergeRequestStore extends Context.Tag("@reins/core/changes/MergeRequestStore")<
  MergeRequestStore,
  {
    readonly find: (mergeRequestId: string) => Effect.Effect<MergeRequest | undefined>
    readonly select: (where: Fragment) => Effect.Effect<ReadonlyArray<MergeRequest>>

    readonly insert: (mergeRequest: NewMergeRequest, actor: Actor) => Effect.Effect<MergeRequest, never, Commit>
    /** Opens a pending one as the forge has it. */
    readonly opened: (
      mergeRequestId: MergeRequestId,
      remote: RemoteMergeRequest,
      adopted: boolean,
      actor: Actor
    ) => Effect.Effect<void, never, Commit>
    /** Ends a pending one that could not be opened. */
    readonly failed: (
      mergeRequestId: MergeRequestId,
      declined: Declined,
      actor: Actor
    ) => Effect.Effect<void, never, Commit>
    /** Writes down how the forge has an open one, and tells when it is merged or closed. */
    readonly observed: (
      mergeRequestId: MergeRequestId,
      remote: RemoteMergeRequest,
      actor: Actor
    ) => Effect.Effect<void, never, Commit>
    /** Tells that somebody asked for the merge. */
    readonly mergeRequested: (mergeRequestId: MergeRequestId, actor: Actor) => Effect.Effect<void, never, Commit>
    /** An open one stays open and says why it was not merged. */
    readonly mergeDeclined: (
      mergeRequestId: MergeRequestId,
      declined: Declined,
      actor: Actor
    ) => Effect.Effect<void, never, Commit>
  }
>() {
  static readonly layer = Layer.effect(
    MergeRequestStore,
    Effect.gen(function* () {
      const db = yield* Database
      const journal = yield* Journal
      const sql = db.sql

      const locked = Effect.fnUntraced(function* (id: string) {
        const row = yield* db.first(sql<MergeRequestRow>`select * from merge_requests where id = ${id}${db.forUpdate}`)
        return row === undefined ? yield* Effect.dieMessage(`no merge request ${id}`) : toMergeRequest(row)
      })
      const tell = (request: MergeRequest, type: EventType & `merge_request.${string}`, actor: Actor) =>
        journal.append(request.session_id, actor, [
          {
            type,
            payload: {
              merge_request_id: request.id,
              state: request.state,
              reason: request.reason,
              reason_message: request.reason_message,
              base_branch: request.base_branch,
              number: request.number,
              web_url: request.web_url,
              head_sha: request.head_sha,
              adopted: request.adopted
            },
            subjects: { delivery_id: request.delivery_id, changeset_id: request.changeset_id }
          }
        ])
      const change = Effect.fnUntraced(function* (id: MergeRequestId, columns: Partial<MergeRequestRow>) {
        yield* db.run(
          sql`update merge_requests set ${sql.update({ ...columns, updated_at: yield* now })}, version = version + 1
          where id = ${id}`
        )
        return yield* locked(id)
      })
      const move = Effect.fnUntraced(function* (
        id: MergeRequestId,
        state: MergeRequestState,
        columns: Partial<MergeRequestRow>,
        actor: Actor
      ) {
        yield* Effect.orDie(mergeRequestStates.check((yield* locked(id)).state, state))
        yield* tell(yield* change(id, { ...columns, state }), eventOf[state], actor)
      })
      /** Changes an open one that stays open. */
      const stay = Effect.fnUntraced(function* (id: MergeRequestId, columns: Partial<MergeRequestRow>) {
        const { state } = yield* locked(id)
        return state === "open" ? yield* change(id, columns) : yield* Effect.dieMessage(`${id} is ${state}, not open`)
      })
      const seen = Effect.fnUntraced(function* (remote: RemoteMergeRequest) {
        return {
          draft: remote.draft ? 1 : 0,
          number: remote.number,
          web_url: remote.webUrl,
          head_sha: remote.headSha === "" ? null : remote.headSha,
          observed_at: yield* now
        }
      })

      return MergeRequestStore.of({
        find: (id) =>
          Effect.map(db.first(sql<MergeRequestRow>`select * from merge_requests where id = ${id}`), (row) =>
            row === undefined ? undefined : toMergeRequest(row)
          ),
        select: (where) =>
          Effect.map(db.all(sql<MergeRequestRow>`select * from merge_requests where ${where}`), (rows) =>
            rows.map(toMergeRequest)
          ),
        insert: fn("MergeRequestStore.insert")(function* ({ draft, ...request }, actor) {
          const at = yield* now
          yield* db.run(
            sql`insert into merge_requests ${sql.insert({
              ...request,
              draft: draft ? 1 : 0,
              state: "pending",
              adopted: 0,
              version: 1,
              created_at: at,
              updated_at: at
            })}`
          )
          const inserted = yield* locked(request.id)
          yield* tell(inserted, "merge_request.requested", actor)
          return inserted
        }),
        opened: fn("MergeRequestStore.opened")(function* (id, remote, adopted, actor) {
          yield* move(id, "open", { ...(yield* seen(remote)), adopted: adopted ? 1 : 0 }, actor)
        }),
        failed: fn("MergeRequestStore.failed")(function* (id, { message, reason }, actor) {
          yield* move(id, "failed", { reason, reason_message: message }, actor)
        }),
        observed: fn("MergeRequestStore.observed")(function* (id, remote, actor) {
          const columns = yield* seen(remote)
          if (remote.state === "open") yield* stay(id, columns)
          else yield* move(id, remote.state, { ...columns, reason: null, reason_message: null }, actor)
        }),
        mergeRequested: fn("MergeRequestStore.mergeRequested")(function* (id, actor) {
          const request = yield* stay(id, { reason: null, reason_message: null })
          yield* tell(request, "merge_request.merge_requested", actor)
        }),
        mergeDeclined: fn("MergeRequestStore.mergeDeclined")(function* (id, { message, reason }, actor) {
          const request = yield* stay(id, { reason, reason_message: message })
          yield* tell(request, "merge_request.merge_failed", actor)
        })
      })
    })
  )
}

const eventOf = {
  pending: "merge_request.requested",
  open: "merge_request.opened",
  merged: "merge_request.merged",
  closed: "merge_request.closed",
  failed: "merge_request.failed"
} as const satisfies Record<MergeRequestState, EventType>

interface MergeRequestRow extends Omit<MergeRequest, "draft" | "adopted"> {
  readonly draft: number
  readonly adopted: number
}

const toMergeRequest = (row: MergeRequestRow): MergeRequest => ({
  ...row,
  draft: row.draft === 1,
  adopted: row.adopted === 1
})
