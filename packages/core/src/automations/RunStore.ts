import { fn } from "@reins/base/base/Traced"
import {
  type AutomationId,
  AutomationRunId,
  type DeliveryId,
  type JobId,
  type MergeRequestId,
  newId
} from "@reins/base/domain/Ids"
import type { Page, StatePageRequest } from "@reins/base/domain/Page"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import { fromNow, now, type Timestamp } from "@reins/base/domain/Timestamp"
import { Context, Effect, Layer } from "effect"
import type { BudgetInput } from "../budgets/Budget.js"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import { existingOf } from "../store/Existing.js"
import * as Keyset from "../store/Keyset.js"
import { andState, stateList } from "../store/StateList.js"
import { type AutomationRun, type AutomationRunState, automationRunStates } from "./AutomationRun.js"
import type { AutomationRow } from "./AutomationStore.js"

/** A run as it is stored. */
export interface RunRow extends AutomationRun {
  /** Tells the occurrences of an automation apart: the instant of a schedule, else something that is never the same. */
  readonly occurrence: string
  /** The limits of what it may spend; null for none. */
  readonly budget: string | null
  /** The job that cancels its turn; null for none. */
  readonly expiry_job_id: JobId | null
  /** 1 when its turn was cancelled because it took too long. */
  readonly has_expired: number
  /** The data of a hook for the message, sealed. Null without a hook, and after 7 days. */
  readonly payload: string | null
  /** The number of the issue that its merge request closes; null for none. */
  readonly closes: number | null
  /** The runs that led to it by their events, itself among them; 0 for one that no event began. */
  readonly depth: number
  /** The delivery that its automation has asked for; null for none. */
  readonly delivery_id: DeliveryId | null
  readonly merge_request_id: MergeRequestId | null
  readonly undelivered_reason: string | null
  readonly undelivered_message: string | null
}

/** A run that has not ended, without what it holds of its call. */
export type LiveRun = Omit<RunRow, "payload">

/** The columns that a new run starts with. The others are null. */
export type NewRun = Pick<RunRow, "automation_id" | "due_at" | "kind" | "late_seconds" | "state" | "workspace_id"> &
  Partial<Omit<RunRow, "created_at" | "finished_at" | "id">>

/** The end of a run, or its beginning. */
export type RunUpdate = Partial<
  Pick<
    RunRow,
    | "budget"
    | "delivery_id"
    | "expiry_job_id"
    | "has_expired"
    | "merge_request_id"
    | "reason"
    | "reason_message"
    | "session_id"
    | "started_at"
    | "turn_id"
    | "undelivered_message"
    | "undelivered_reason"
  >
>

/** A run as callers see it. */
export const toRun = ({
  budget: _,
  expiry_job_id: __,
  has_expired: ___,
  occurrence: ____,
  payload: _____,
  closes: ______,
  depth: ___________,
  delivery_id: _______,
  merge_request_id: ________,
  undelivered_reason: _________,
  undelivered_message: __________,
  ...run
}: RunRow): AutomationRun => run

/** The rows of runs. Writers of a run hold its automation. */
export class RunStore extends Context.Tag("@reins/core/automations/RunStore")<
  RunStore,
  {
    /** The runs of an automation, newest first. */
    readonly list: (
      automationId: string,
      page: StatePageRequest<AutomationRunState>
    ) => Effect.Effect<Page<AutomationRun>, ReinsError<"invalid_cursor">>
    /** Also the run of an automation that was deleted. */
    readonly find: (id: string) => Effect.Effect<RunRow | undefined>
    readonly newest: (automationId: string) => Effect.Effect<RunRow | undefined>
    readonly ofTurn: (turnId: string) => Effect.Effect<RunRow | undefined>
    /** The newest run that works in a session. */
    readonly ofSession: (sessionId: string) => Effect.Effect<RunRow | undefined>
    /** The run whose automation has asked for a delivery. */
    readonly ofDelivery: (deliveryId: string) => Effect.Effect<RunRow | undefined>
    /** The runs of an automation that have not ended, oldest first. */
    readonly live: (automationId: string) => Effect.Effect<ReadonlyArray<LiveRun>>
    /** The runs of a workspace that have begun since a time. */
    readonly countStarted: (workspaceId: string, since: Timestamp) => Effect.Effect<number>
    /** Adds a run. Undefined when its occurrence has one. */
    readonly insert: (run: NewRun) => Effect.Effect<RunRow | undefined, never, Commit>
    /** Changes columns, and leaves the state. */
    readonly update: (id: AutomationRunId, changes: RunUpdate) => Effect.Effect<RunRow, never, Commit>
    /** Moves a run. Dies for a move that `automationRunStates` does not draw. */
    readonly move: (run: LiveRun, to: AutomationRunState, changes?: RunUpdate) => Effect.Effect<RunRow, never, Commit>
    /** Forgets what calls have brought for the runs of an automation, the ids of their deliveries among it. */
    readonly forgetCalls: (automationId: AutomationId) => Effect.Effect<void, never, Commit>
    /** Removes the runs that ended over 90 days ago, and what hooks brought over 7 days ago. */
    readonly purge: Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.effect(
    RunStore,
    Effect.gen(function* () {
      const db = yield* Database
      const { sql } = db
      const ongoing = sql.literal(stateList(automationRunStates.ongoing))
      const ofTurn = db.prepare(
        (turnId: string) => sql<RunRow>`select * from automation_runs where turn_id = ${turnId}`
      )
      const ofDelivery = db.prepare(
        (deliveryId: string) => sql<RunRow>`select * from automation_runs where delivery_id = ${deliveryId}`
      )
      const find = (id: string) => db.first(sql<RunRow>`select * from automation_runs where id = ${id}`)
      const existing = existingOf("automation run", find)

      const write = Effect.fnUntraced(function* (id: AutomationRunId, changes: Partial<RunRow>) {
        yield* db.run(sql`update automation_runs set ${sql.update({ ...changes })} where id = ${id}`)
        return yield* existing(id)
      })

      return RunStore.of({
        find,
        update: (id, changes) => (Object.keys(changes).length === 0 ? existing(id) : write(id, changes)),
        list: fn("RunStore.list")(function* (automationId, request) {
          const { before, limit } = yield* Keyset.descending(request)
          const rows = yield* db.all(sql<RunRow>`select * from automation_runs
            where automation_id = ${automationId} and id < ${before} ${andState(db, request.state)}
            order by id desc limit ${limit + 1}`)
          return Keyset.page(rows.map(toRun), limit, ({ id }) => id)
        }),
        newest: (automationId) =>
          db.first(sql<RunRow>`select * from automation_runs where automation_id = ${automationId}
            order by id desc limit 1`),
        ofTurn: (turnId) => db.first(ofTurn(turnId)),
        ofSession: (sessionId) =>
          db.first(sql<RunRow>`select * from automation_runs where session_id = ${sessionId} order by id desc limit 1`),
        ofDelivery: (deliveryId) => db.first(ofDelivery(deliveryId)),
        live: (automationId) =>
          db.all(sql<LiveRun>`select ${sql.literal(liveColumns)} from automation_runs
            where automation_id = ${automationId} and state in (${ongoing}) order by id`),
        countStarted: (workspaceId, since) =>
          Effect.map(
            db.first(sql<{ count: number }>`select cast(count(*) as integer) as count from automation_runs
              where workspace_id = ${workspaceId} and started_at >= ${since}`),
            (row) => row?.count ?? 0
          ),
        insert: Effect.fnUntraced(function* (run) {
          const id = yield* newId(AutomationRunId)
          const at = yield* now
          const row: RunRow = {
            reason: null,
            reason_message: null,
            missed: null,
            retry_of_run_id: null,
            session_id: null,
            turn_id: null,
            started_at: null,
            budget: null,
            expiry_job_id: null,
            has_expired: 0,
            payload: null,
            closes: null,
            depth: 0,
            delivery_id: null,
            merge_request_id: null,
            undelivered_reason: null,
            undelivered_message: null,
            // An occurrence of its own.
            occurrence: id,
            ...run,
            id,
            created_at: at,
            finished_at: automationRunStates.isTerminal(run.state) ? at : null
          }
          return yield* db.first(sql<RunRow>`insert into automation_runs ${sql.insert({ ...row })}
            on conflict (automation_id, occurrence) do nothing returning *`)
        }),
        move: Effect.fnUntraced(function* (run, to, changes = {}) {
          yield* Effect.orDie(automationRunStates.check(run.state, to))
          const finished_at = automationRunStates.isTerminal(to) ? yield* now : null
          return yield* write(run.id, { ...changes, state: to, finished_at })
        }),
        forgetCalls: (automationId) =>
          db.run(sql`update automation_runs set payload = null, occurrence = id where automation_id = ${automationId}`),
        purge: Effect.zipRight(
          Effect.flatMap(fromNow(-keptMs), (before) =>
            db.run(sql`delete from automation_runs where finished_at < ${before}`)
          ),
          Effect.flatMap(fromNow(-payloadMs), (before) =>
            db.run(sql`update automation_runs set payload = null
              where payload is not null and created_at < ${before} and finished_at is not null`)
          )
        )
      })
    })
  )
}

/** All columns but the payload, because many runs may wait, each with one. */
const liveColumns = `id, automation_id, workspace_id, occurrence, kind, state, reason, reason_message, due_at, late_seconds, missed,
  retry_of_run_id, session_id, turn_id, budget, expiry_job_id, has_expired, closes, depth, delivery_id, merge_request_id,
  undelivered_reason, undelivered_message, created_at, started_at, finished_at`

const keptMs = 90 * 24 * 60 * 60 * 1000
const payloadMs = 7 * 24 * 60 * 60 * 1000

/** The columns that a run of an automation starts with. */
export const ofAutomation = ({ id, workspace_id }: AutomationRow) => ({ automation_id: id, workspace_id })

/** The limits of a run as they are stored. */
export const budgetOf = ({ budget }: Pick<RunRow, "budget">): BudgetInput | null =>
  budget === null ? null : JSON.parse(budget)
