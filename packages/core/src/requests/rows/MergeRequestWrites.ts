import { fn } from "@reins/base/base/Traced"
import type { Actor, EventType, NewEvent } from "@reins/base/domain/Event"
import type { MergeRequestId } from "@reins/base/domain/Ids"
import { now } from "@reins/base/domain/Timestamp"
import { Effect } from "effect"
import { Database } from "../../store/Database.js"
import { existingOf } from "../../store/Existing.js"
import { Journal } from "../../store/Journal.js"
import {
  type MergeRequest,
  type MergeRequestReason,
  type MergeRequestState,
  mergeRequestStates
} from "./MergeRequest.js"
import { headOf, type Reading } from "./Reading.js"
import type { RequestStanding, RequestSums } from "./RequestStanding.js"

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

export const columnsOf = (sql: Database["Type"]["sql"]) =>
  sql.literal(
    `merge_requests.*, (select look_at from watches where merge_request_id = merge_requests.id) as next_look_at,
      (select state from cares where merge_request_id = merge_requests.id) as care_state,
      (select shown from merge_conditions where merge_request_id = merge_requests.id) as conditions`
  )

/** The ways in which rows of merge requests change. */
export const requestWrites = Effect.gen(function* () {
  const db = yield* Database
  const journal = yield* Journal
  const sql = db.sql

  const find = (id: string) =>
    Effect.map(
      db.first(sql<MergeRequestRow>`select ${columnsOf(sql)} from merge_requests where id = ${id}`),
      toMergeRequestOrNone
    )

  const lock = (id: string) =>
    Effect.map(
      db.first(sql<MergeRequestRow>`select ${columnsOf(sql)} from merge_requests where id = ${id}${db.forUpdate}`),
      toMergeRequestOrNone
    )
  const locked = existingOf("merge request", lock)

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
    find,
    lock,
    locked,
    existing: existingOf("merge request", find),
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

export const noReason = { reason: null, reason_message: null }

export const declinedColumns = ({ message, reason }: Declined) => ({ reason, reason_message: message })

export const seenColumns = ({ at, remote }: Reading) => ({
  draft: remote.draft ? 1 : 0,
  number: remote.number,
  web_url: remote.webUrl,
  head_sha: headOf(remote),
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

export interface MergeRequestRow
  extends Omit<MergeRequest, "draft" | "draft_wanted" | "adopted" | "standing" | "conditions"> {
  readonly draft: number
  readonly draft_wanted: number | null
  readonly standing: string | null
  readonly conditions: string | null
  readonly adopted: number
}

export const toMergeRequest = (row: MergeRequestRow): MergeRequest => ({
  ...row,
  draft: row.draft === 1,
  draft_wanted: row.draft_wanted === null ? null : row.draft_wanted === 1,
  standing: row.standing === null ? null : JSON.parse(row.standing),
  conditions: row.conditions === null ? null : JSON.parse(row.conditions),
  adopted: row.adopted === 1
})

export const toMergeRequestOrNone = (row: MergeRequestRow | undefined): MergeRequest | undefined =>
  row === undefined ? undefined : toMergeRequest(row)
