import { fn } from "@reins/base/base/Traced"
import type { Actor } from "@reins/base/domain/Event"
import type { DeliveryId, MergeRequestId } from "@reins/base/domain/Ids"
import type { Page, PageRequest, StatePageRequest } from "@reins/base/domain/Page"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import { now, type Timestamp } from "@reins/base/domain/Timestamp"
import type { RemoteMergeRequest } from "@reins/machine/forge/ForgeCalls"
import { Context, Effect, Layer } from "effect"
import type { Commit } from "../../store/Commit.js"
import { Database } from "../../store/Database.js"
import * as Keyset from "../../store/Keyset.js"
import { andState, stateList } from "../../store/StateList.js"
import type { CareState } from "./CareState.js"
import { conditionRows } from "./ConditionRows.js"
import { type MergeRequest, type MergeRequestState, mergeRequestStates } from "./MergeRequest.js"
import {
  columnsOf,
  type Declined,
  declinedColumns,
  type MergeRequestEventType,
  type MergeRequestRow,
  type NewMergeRequest,
  noReason,
  requestWrites,
  seenColumns,
  toMergeRequest,
  toMergeRequestOrNone
} from "./MergeRequestWrites.js"
import { isOvertaken, notBefore, type Reading } from "./Reading.js"
import { RequestListeners } from "./RequestListeners.js"
import type { RequestStanding } from "./RequestStanding.js"
import { WatchStore } from "./WatchStore.js"

/** A page of the merge requests of a workspace, or of some of its sessions. */
export interface MergeRequestFilter extends StatePageRequest<MergeRequestState> {
  /** Those whose care stands so. */
  readonly care?: CareState
  /** Those of the sessions of a project. */
  readonly project_id?: string
  /** Those of a session. */
  readonly session_id?: string
}

/** The rows of merge requests, their states, and the events that tell of them. Its moves die unless `mergeRequestStates` draws them. */
export class MergeRequestStore extends Context.Tag("@reins/core/requests/rows/MergeRequestStore")<
  MergeRequestStore,
  {
    /** Reads a merge request without a check of access. */
    readonly find: (mergeRequestId: string) => Effect.Effect<MergeRequest | undefined>
    /** Finds one and holds its row until the commit is through. */
    readonly lock: (mergeRequestId: string) => Effect.Effect<MergeRequest | undefined, never, Commit>
    /** The merge requests of a delivery, newest first. */
    readonly list: (
      deliveryId: DeliveryId,
      page: PageRequest
    ) => Effect.Effect<Page<MergeRequest>, ReinsError<"invalid_cursor">>
    /** The merge request of a delivery for a base branch that is pending or open. */
    readonly findOngoing: (deliveryId: DeliveryId, baseBranch: string) => Effect.Effect<MergeRequest | undefined>
    /** The open merge requests of a delivery, oldest first. */
    readonly openOf: (deliveryId: DeliveryId) => Effect.Effect<ReadonlyArray<MergeRequest>>
    /** Adds a pending merge request and gives it back. */
    readonly insert: (mergeRequest: NewMergeRequest, actor: Actor) => Effect.Effect<MergeRequest, never, Commit>
    /** Opens a pending merge request as the forge has it. `adopted` says that somebody else had opened it there. */
    readonly opened: (
      mergeRequestId: MergeRequestId,
      remote: RemoteMergeRequest,
      adopted: boolean,
      actor: Actor
    ) => Effect.Effect<void, never, Commit>
    /** Ends a pending merge request that could not be opened. */
    readonly failed: (
      mergeRequestId: MergeRequestId,
      declined: Declined,
      actor: Actor
    ) => Effect.Effect<void, never, Commit>
    /**
     * Writes down how the forge has an open merge request, and tells when it is merged or closed there. Conditions that were set for another base branch
     * are given up. Where the row holds a newer reading that says something else, nothing is written, and the next look is due.
     */
    readonly keepReading: (
      mergeRequestId: MergeRequestId,
      reading: Reading,
      actor: Actor
    ) => Effect.Effect<void, never, Commit>
    /** Writes down the standing of an open merge request that differs, and tells what has changed. */
    readonly keepStanding: (
      mergeRequestId: MergeRequestId,
      standing: RequestStanding,
      types: ReadonlyArray<MergeRequestEventType>,
      actor: Actor
    ) => Effect.Effect<void, never, Commit>
    /** Notes that the forge was read and nothing has changed. */
    readonly keepTime: (mergeRequestId: MergeRequestId, at: Timestamp) => Effect.Effect<void, never, Commit>
    /** The merge requests of the sessions of a workspace, newest first. */
    readonly listOf: (
      workspaceId: string,
      filter: MergeRequestFilter
    ) => Effect.Effect<Page<MergeRequest>, ReinsError<"invalid_cursor">>
    /** Notes that the conditions of a merge request have changed in this commit, and tells of it. */
    readonly conditioned: (
      mergeRequestId: MergeRequestId,
      types: ReadonlyArray<MergeRequestEventType>,
      actor: Actor
    ) => Effect.Effect<void, never, Commit>
    /** Notes that an open merge request is to be a draft, or ready for review, and tells of it. */
    readonly readinessRequested: (
      mergeRequestId: MergeRequestId,
      draft: boolean,
      actor: Actor
    ) => Effect.Effect<void, never, Commit>
    /** Writes down how the forge has an open merge request, now that it is as was wanted, and tells of it. A newer reading stands. */
    readonly readinessSet: (
      mergeRequestId: MergeRequestId,
      reading: Reading,
      actor: Actor
    ) => Effect.Effect<void, never, Commit>
    /** Leaves an open merge request as it is, and tells why. */
    readonly readinessDeclined: (
      mergeRequestId: MergeRequestId,
      declined: Declined,
      actor: Actor
    ) => Effect.Effect<void, never, Commit>
    /** Tells that a comment of a person is on the forge, or why it is not. The merge request stays as it is. */
    readonly replied: (
      mergeRequestId: MergeRequestId,
      declined: Declined | undefined,
      actor: Actor
    ) => Effect.Effect<void, never, Commit>
    /** Tells that the merge of an open merge request was asked for. */
    readonly mergeRequested: (mergeRequestId: MergeRequestId, actor: Actor) => Effect.Effect<void, never, Commit>
    /** Leaves a merge request open and tells why it was not merged. */
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
      const sql = db.sql
      const watches = yield* WatchStore
      const listeners = yield* RequestListeners
      const { change, existing, find, insert, lock, locked, move, stay, tell } = yield* requestWrites
      const acts = yield* actWrites
      const conditions = yield* conditionRows
      const columns = columnsOf(sql)
      const ongoing = sql.literal(stateList(mergeRequestStates.ongoing))

      return MergeRequestStore.of({
        find,
        lock,
        list: fn("MergeRequestStore.list")(function* (deliveryId, page) {
          const { before, limit } = yield* Keyset.descending(page)
          const rows = yield* db.all(sql<MergeRequestRow>`select ${columns} from merge_requests
            where delivery_id = ${deliveryId} and id < ${before} order by id desc limit ${limit + 1}`)
          return Keyset.page(rows.map(toMergeRequest), limit, (request) => request.id)
        }),
        findOngoing: (deliveryId, baseBranch) =>
          Effect.map(
            db.first(sql<MergeRequestRow>`select ${columns} from merge_requests
              where delivery_id = ${deliveryId} and base_branch = ${baseBranch} and state in (${ongoing})`),
            toMergeRequestOrNone
          ),
        openOf: (deliveryId) =>
          Effect.map(
            db.all(sql<MergeRequestRow>`select ${columns} from merge_requests
              where delivery_id = ${deliveryId} and state = 'open' order by id`),
            (rows) => rows.map(toMergeRequest)
          ),
        insert,
        opened: fn("MergeRequestStore.opened")(function* (id, remote, adopted, actor) {
          yield* move(id, "open", { ...seenColumns({ at: yield* now, remote }), adopted: adopted ? 1 : 0 }, actor)
          const opened = yield* existing(id)
          yield* watches.begin(opened.id, opened.connection_id)
        }),
        failed: (id, declined, actor) =>
          Effect.zipRight(conditions.end(id, "failed"), move(id, "failed", declinedColumns(declined), actor)),
        keepReading: fn("MergeRequestStore.keepReading")(function* (id, reading, actor) {
          const row = yield* locked(id)
          if (isOvertaken(row, reading)) return yield* Effect.asVoid(watches.ring(id, false))
          const { remote } = reading
          const { base_branch: base, draft } = row
          const isOtherDraft = remote.draft !== draft
          const isRetargeted = remote.baseBranch !== undefined && remote.baseBranch !== base
          const columns = { ...seenColumns(notBefore(row, reading)), base_branch: remote.baseBranch ?? base }
          if (remote.state === "open") {
            const seen = yield* stay(id, columns)
            if (isOtherDraft) yield* tell(seen, "merge_request.readiness_changed", actor)
            if (!isRetargeted) return
            yield* tell(seen, "merge_request.base_changed", actor)
            if (yield* conditions.retarget(id, columns.base_branch))
              yield* tell(yield* existing(id), "merge_request.conditions_given_up", actor)
            return
          }
          yield* conditions.end(id, remote.state)
          yield* move(id, remote.state, { ...columns, ...noReason, draft_wanted: null }, actor)
          yield* watches.end(id)
          yield* listeners.ended(yield* existing(id))
        }),
        keepStanding: fn("MergeRequestStore.keepStanding")(function* (id, standing, types, actor) {
          const looked = yield* stay(id, { standing: JSON.stringify(standing) })
          for (const type of types) yield* tell(looked, type, actor)
        }),
        keepTime: (id, at) => db.run(sql`update merge_requests set observed_at = ${at} where id = ${id}`),
        listOf: fn("MergeRequestStore.listOf")(function* (workspaceId, filter) {
          const { before, limit } = yield* Keyset.descending(filter)
          const { project_id, session_id, state } = filter
          const ofSessions = sql.and([
            sql`workspace_id = ${workspaceId}`,
            sql`deleting_at is null`,
            ...(project_id === undefined ? [] : [sql`project_id = ${project_id}`]),
            ...(session_id === undefined ? [] : [sql`id = ${session_id}`])
          ])
          const rows = yield* db.all(sql<MergeRequestRow>`select ${columns} from merge_requests
            where id < ${before} ${andState(db, state)} ${ofCare(sql, filter.care)} and session_id in (select id from sessions where ${ofSessions})
            order by id desc limit ${limit + 1}`)
          return Keyset.page(rows.map(toMergeRequest), limit, (request) => request.id)
        }),
        conditioned: fn("MergeRequestStore.conditioned")(function* (id, types, actor) {
          const changed = yield* change(id, {})
          for (const type of types) yield* tell(changed, type, actor)
        }),
        ...acts
      })
    })
  )
}

const ofCare = (sql: Database["Type"]["sql"], care: CareState | undefined) =>
  care === undefined ? sql`` : sql`and id in (select merge_request_id from cares where state = ${care})`

/** Writes what people have asked of the forge, and what became of it. */
const actWrites = Effect.map(requestWrites, ({ existing, locked, stay, tell }) => {
  return {
    readinessRequested: (id, draft, actor) =>
      Effect.flatMap(stay(id, { ...noReason, draft_wanted: draft ? 1 : 0 }), (request) =>
        tell(request, "merge_request.readiness_requested", actor)
      ),
    readinessSet: fn("MergeRequestStore.readinessSet")(function* (id, reading, actor) {
      const row = yield* locked(id)
      const columns = isOvertaken(row, reading) ? {} : seenColumns(notBefore(row, reading))
      const seen = yield* stay(id, { ...columns, draft_wanted: null })
      yield* tell(seen, "merge_request.readiness_changed", actor)
    }),
    readinessDeclined: (id, declined, actor) =>
      Effect.flatMap(stay(id, { ...declinedColumns(declined), draft_wanted: null }), (request) =>
        tell(request, "merge_request.readiness_failed", actor)
      ),
    replied: fn("MergeRequestStore.replied")(function* (id, declined, actor) {
      const request = yield* existing(id)
      if (declined === undefined) return yield* tell(request, "merge_request.replied", actor)
      yield* tell({ ...request, ...declinedColumns(declined) }, "merge_request.reply_failed", actor)
    }),
    mergeRequested: (id, actor) =>
      Effect.flatMap(stay(id, noReason), (request) => tell(request, "merge_request.merge_requested", actor)),
    mergeDeclined: (id, declined, actor) =>
      Effect.flatMap(stay(id, declinedColumns(declined)), (request) =>
        tell(request, "merge_request.merge_failed", actor)
      )
  } satisfies Partial<MergeRequestStore["Type"]>
})
