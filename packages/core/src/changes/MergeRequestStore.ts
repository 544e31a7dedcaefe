import { Context, Effect, Layer } from "effect"
import { fn } from "../base/Traced.js"
import type { Actor, EventType, NewEvent } from "../domain/Event.js"
import type { DeliveryId, MergeRequestId } from "../domain/Ids.js"
import type { Page, PageRequest, StatePageRequest } from "../domain/Page.js"
import type { ReinsError } from "../domain/ReinsError.js"
import { now, type Timestamp } from "../domain/Timestamp.js"
import type { RemoteMergeRequest } from "../forge/ForgeCalls.js"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import { existingOf } from "../store/Existing.js"
import { Journal } from "../store/Journal.js"
import * as Keyset from "../store/Keyset.js"
import { andState, stateList } from "../store/StateList.js"
import { conditionRows } from "./conditions/ConditionRows.js"
import type { CareState } from "./looks/CareState.js"
import { RequestListeners } from "./looks/RequestListeners.js"
import type { RequestStanding, RequestSums } from "./looks/RequestStanding.js"
import { WatchStore } from "./looks/WatchStore.js"
import {
  type MergeRequest,
  type MergeRequestReason,
  type MergeRequestState,
  mergeRequestStates
} from "./MergeRequest.js"

/** A page of the merge requests of a workspace, or of some of its sessions. */
export interface MergeRequestFilter extends StatePageRequest<MergeRequestState> {
  /** Those whose care stands so. */
  readonly care?: CareState
  /** Those of the sessions of a project. */
  readonly project_id?: string
  /** Those of a session. */
  readonly session_id?: string
}

/** The columns that a new merge request starts with. */
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

/** The reason for which a merge request was not opened or merged. */
export interface Declined {
  /** Null when none of the reasons fits. */
  readonly reason: MergeRequestReason | null
  /** A sentence for people. */
  readonly message: string
}

/** The rows of merge requests, their states, and the events that tell of them. Its moves die unless `mergeRequestStates` draws them. */
export class MergeRequestStore extends Context.Tag("@reins/core/changes/MergeRequestStore")<
  MergeRequestStore,
  {
    /** Reads a merge request without a check of access. */
    readonly find: (mergeRequestId: string) => Effect.Effect<MergeRequest | undefined>
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
     * are given up.
     */
    readonly observed: (
      mergeRequestId: MergeRequestId,
      remote: RemoteMergeRequest,
      actor: Actor
    ) => Effect.Effect<void, never, Commit>
    /** Writes down the standing of an open merge request that differs, and tells what has changed. */
    readonly looked: (
      mergeRequestId: MergeRequestId,
      standing: RequestStanding,
      types: ReadonlyArray<MergeRequestEventType>,
      actor: Actor
    ) => Effect.Effect<void, never, Commit>
    /** Notes that the forge was read and nothing has changed. */
    readonly sighted: (mergeRequestId: MergeRequestId, at: Timestamp) => Effect.Effect<void, never, Commit>
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
      const { change, insert, move, stay, tell } = yield* writes
      const conditions = yield* conditionRows
      const columns = columnsOf(sql)
      const ongoing = sql.literal(stateList(mergeRequestStates.ongoing))

      const find = (id: string) =>
        Effect.map(
          db.first(sql<MergeRequestRow>`select ${columns} from merge_requests where id = ${id}`),
          toMergeRequestOrNone
        )
      const existing = existingOf("merge request", find)

      return MergeRequestStore.of({
        find,
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
          yield* move(id, "open", { ...seenColumns(remote, yield* now), adopted: adopted ? 1 : 0 }, actor)
          const opened = yield* existing(id)
          yield* watches.begin(opened.id, opened.connection_id)
        }),
        failed: (id, declined, actor) =>
          Effect.zipRight(conditions.end(id, "failed"), move(id, "failed", declinedColumns(declined), actor)),
        observed: fn("MergeRequestStore.observed")(function* (id, remote, actor) {
          const { base_branch: base } = yield* existing(id)
          const isRetargeted = remote.baseBranch !== undefined && remote.baseBranch !== base
          const columns = { ...seenColumns(remote, yield* now), base_branch: remote.baseBranch ?? base }
          if (remote.state === "open") {
            const seen = yield* stay(id, columns)
            if (!isRetargeted) return
            yield* tell(seen, "merge_request.base_changed", actor)
            if (yield* conditions.retarget(id, columns.base_branch))
              yield* tell(yield* existing(id), "merge_request.conditions_given_up", actor)
            return
          }
          yield* conditions.end(id, remote.state)
          yield* move(id, remote.state, { ...columns, ...noReason }, actor)
          yield* watches.end(id)
          yield* listeners.ended(yield* existing(id))
        }),
        looked: fn("MergeRequestStore.looked")(function* (id, standing, types, actor) {
          const looked = yield* stay(id, { standing: JSON.stringify(standing) })
          for (const type of types) yield* tell(looked, type, actor)
        }),
        sighted: (id, at) => db.run(sql`update merge_requests set observed_at = ${at} where id = ${id}`),
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
        mergeRequested: (id, actor) =>
          Effect.flatMap(stay(id, noReason), (request) => tell(request, "merge_request.merge_requested", actor)),
        mergeDeclined: (id, declined, actor) =>
          Effect.flatMap(stay(id, declinedColumns(declined)), (request) =>
            tell(request, "merge_request.merge_failed", actor)
          )
      })
    })
  )
}

const ofCare = (sql: Database["Type"]["sql"], care: CareState | undefined) =>
  care === undefined ? sql`` : sql`and id in (select merge_request_id from cares where state = ${care})`

const columnsOf = (sql: Database["Type"]["sql"]) =>
  sql.literal(
    `merge_requests.*, (select look_at from watches where merge_request_id = merge_requests.id) as next_look_at,
      (select state from cares where merge_request_id = merge_requests.id) as care_state,
      (select shown from merge_conditions where merge_request_id = merge_requests.id) as conditions`
  )

/** The ways in which rows of merge requests change. */
const writes = Effect.gen(function* () {
  const db = yield* Database
  const journal = yield* Journal
  const sql = db.sql

  const locked = Effect.fnUntraced(function* (id: string) {
    const row = yield* db.first(
      sql<MergeRequestRow>`select ${columnsOf(sql)} from merge_requests where id = ${id}${db.forUpdate}`
    )
    return row === undefined ? yield* Effect.dieMessage(`no merge request ${id}`) : toMergeRequest(row)
  })

  const tell = (request: MergeRequest, type: MergeRequestEventType, actor: Actor) =>
    Effect.asVoid(journal.append(request.session_id, actor, [eventOf(request, type)]))

  const change = Effect.fnUntraced(function* (id: MergeRequestId, columns: Partial<MergeRequestRow>) {
    yield* db.run(
      sql`update merge_requests set ${sql.update({ ...columns, updated_at: yield* now })}, version = version + 1
      where id = ${id}`
    )
    return yield* locked(id)
  })

  return {
    change,
    tell,
    insert: fn("MergeRequestStore.insert")(function* ({ draft, ...request }: NewMergeRequest, actor: Actor) {
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
    /** Moves a merge request to another state, and tells it. */
    move: Effect.fnUntraced(function* (
      id: MergeRequestId,
      state: MergeRequestState,
      columns: Partial<MergeRequestRow>,
      actor: Actor
    ) {
      yield* Effect.orDie(mergeRequestStates.check((yield* locked(id)).state, state))
      yield* tell(yield* change(id, { ...columns, state }), eventTypes[state], actor)
    }),
    /** Changes an open merge request that stays open. */
    stay: Effect.fnUntraced(function* (id: MergeRequestId, columns: Partial<MergeRequestRow>) {
      const { state } = yield* locked(id)
      return state === "open" ? yield* change(id, columns) : yield* Effect.dieMessage(`${id} is ${state}, not open`)
    })
  }
})

const noReason = { reason: null, reason_message: null }

const declinedColumns = ({ message, reason }: Declined) => ({ reason, reason_message: message })

const seenColumns = (remote: RemoteMergeRequest, at: Timestamp) => ({
  draft: remote.draft ? 1 : 0,
  number: remote.number,
  web_url: remote.webUrl,
  head_sha: remote.headSha === "" ? null : remote.headSha,
  observed_at: at
})

export type MergeRequestEventType = Exclude<EventType & `merge_request.${string}`, `merge_request.care_${string}`>

const eventTypes = {
  pending: "merge_request.requested",
  open: "merge_request.opened",
  merged: "merge_request.merged",
  closed: "merge_request.closed",
  failed: "merge_request.failed"
} as const satisfies Record<MergeRequestState, MergeRequestEventType>

const eventOf = (request: MergeRequest, type: MergeRequestEventType): NewEvent => ({
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
    adopted: request.adopted,
    standing: sumsOf(request.standing)
  },
  subjects: { delivery_id: request.delivery_id, changeset_id: request.changeset_id }
})

const sumsOf = (standing: RequestStanding | null): RequestSums | null => {
  if (standing === null) return null
  const { waiting_for: _words, ...sums } = standing
  return sums
}

interface MergeRequestRow extends Omit<MergeRequest, "draft" | "adopted" | "standing" | "conditions"> {
  readonly draft: number
  readonly standing: string | null
  readonly conditions: string | null
  readonly adopted: number
}

const toMergeRequest = (row: MergeRequestRow): MergeRequest => ({
  ...row,
  draft: row.draft === 1,
  standing: row.standing === null ? null : JSON.parse(row.standing),
  conditions: row.conditions === null ? null : JSON.parse(row.conditions),
  adopted: row.adopted === 1
})

const toMergeRequestOrNone = (row: MergeRequestRow | undefined): MergeRequest | undefined =>
  row === undefined ? undefined : toMergeRequest(row)
