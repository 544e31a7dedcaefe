import { fn } from "@reins/base/base/Traced"
import type { AccountId, ApiKeyId, AutomationId, HookId, JobId, ProjectId, WorkspaceId } from "@reins/base/domain/Ids"
import type { Page, StatePageRequest } from "@reins/base/domain/Page"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import { now, type Timestamp } from "@reins/base/domain/Timestamp"
import { Context, Effect, Layer } from "effect"
import { JobStore } from "../jobs/JobStore.js"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import { existingOf } from "../store/Existing.js"
import * as Keyset from "../store/Keyset.js"
import { andState } from "../store/StateList.js"
import {
  type AutomationOptions,
  type AutomationState,
  type AutomationTarget,
  type AutomationTrigger,
  defaultOptions,
  type PauseReason,
  type TimedTrigger
} from "./Automation.js"

/** An automation as it is stored. */
export interface AutomationRow {
  readonly id: AutomationId
  readonly workspace_id: WorkspaceId
  readonly name: string
  /** The project of its target; null for none. */
  readonly project_id: ProjectId | null
  /** The hook of its trigger; null for none. */
  readonly hook_id: HookId | null
  readonly state: AutomationState
  readonly pause_reason: PauseReason | null
  readonly pause_message: string | null
  /** 1 when events of the workspace make it due. */
  readonly follows: number
  /** The trigger. */
  readonly due: string
  readonly target: string
  readonly options: string
  readonly acts_for: AccountId
  /** The API key that made it act; null without one. */
  readonly api_key_id: ApiKeyId | null
  /** Grows with each change of the trigger and each pause, so that what was due before is void. */
  readonly generation: number
  readonly next_due_at: Timestamp | null
  readonly next_run_at: Timestamp | null
  /** The job of the next time; null for none. */
  readonly fire_job_id: JobId | null
  readonly failures: number
  readonly spent_tokens: number
  readonly spent_nano_usd: number | null
  readonly version: number
  readonly created_at: Timestamp
  readonly updated_at: Timestamp
  readonly deleted_at: Timestamp | null
}

export const triggerOf = ({ due }: Pick<AutomationRow, "due">): AutomationTrigger => JSON.parse(due)
/** The trigger of an automation that the clock makes due; undefined for another one. */
export const timedTriggerOf = (row: Pick<AutomationRow, "due">): TimedTrigger | undefined => {
  const trigger = triggerOf(row)
  return trigger.kind === "schedule" || trigger.kind === "once" ? trigger : undefined
}
export const automationTarget = ({ target }: Pick<AutomationRow, "target">): AutomationTarget => JSON.parse(target)
export const optionsOf = (row: Pick<AutomationRow, "due" | "options">): AutomationOptions => ({
  ...defaultOptions,
  overlap: timedTriggerOf(row) === undefined ? "wait" : "skip",
  ...JSON.parse(row.options)
})

/** The automations of a workspace that a caller asks for. */
export interface AutomationFilter extends StatePageRequest<AutomationState> {
  readonly project_id?: string
}

/** The rows of automations. An automation that was deleted is not found. */
export class AutomationStore extends Context.Tag("@reins/core/automations/AutomationStore")<
  AutomationStore,
  {
    /** The automations of a workspace, newest first. */
    readonly list: (
      workspaceId: string,
      filter: AutomationFilter
    ) => Effect.Effect<Page<AutomationRow>, ReinsError<"invalid_cursor">>
    readonly count: (workspaceId: string) => Effect.Effect<number>
    readonly find: (id: string) => Effect.Effect<AutomationRow | undefined>
    /** `find`, also for one that was deleted and still has runs. */
    readonly findEver: (id: string) => Effect.Effect<AutomationRow | undefined>
    /** `find`, with the time of the database. Other commits cannot change the automation until this one ends. */
    readonly lock: (
      id: string
    ) => Effect.Effect<{ readonly row: AutomationRow; readonly at: Timestamp } | undefined, never, Commit>
    /** The ids of the automations that still have something which is about to go. */
    readonly having: (
      what: "acts_for" | "hook_id" | "project_id",
      id: string
    ) => Effect.Effect<ReadonlyArray<AutomationId>>
    /** The active automations that events make due. */
    readonly following: Effect.Effect<ReadonlyArray<Pick<AutomationRow, "generation" | "id" | "workspace_id">>>
    readonly insert: (row: AutomationRow) => Effect.Effect<void, never, Commit>
    /** Changes columns of an automation that the commit holds, and gives back the row. */
    readonly update: (id: AutomationId, changes: Partial<AutomationRow>) => Effect.Effect<AutomationRow, never, Commit>
    /** Pauses an active automation that the commit holds. What was due is void. Another one stays as it is. */
    readonly pause: (row: AutomationRow, why: PauseCause) => Effect.Effect<AutomationRow, never, Commit>
    /** Removes the automations that were deleted and have no run any more, and the positions that nobody reads on from. */
    readonly purge: Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.effect(
    AutomationStore,
    Effect.gen(function* () {
      const db = yield* Database
      const jobs = yield* JobStore
      const { sql } = db

      const findRow = (id: string) =>
        Effect.map(
          db.first(sql<AutomationRow>`select * from automations where id = ${id} and deleted_at is null`),
          (row) => row && withNumbers(row)
        )
      const existing = existingOf("automation", (id) =>
        Effect.map(
          db.first(sql<AutomationRow>`select * from automations where id = ${id}`),
          (row) => row && withNumbers(row)
        )
      )
      const update = Effect.fnUntraced(function* (id: AutomationId, changes: Partial<AutomationRow>) {
        yield* db.run(sql`update automations set ${sql.update({ ...changes })} where id = ${id}`)
        return yield* existing(id)
      })

      return AutomationStore.of({
        find: findRow,
        findEver: (id) => db.first(sql<AutomationRow>`select * from automations where id = ${id}`),
        update,
        list: fn("AutomationStore.list")(function* (workspaceId, filter) {
          const { before, limit } = yield* Keyset.descending(filter)
          const ofProject =
            filter.project_id === undefined ? sql.literal("") : sql`and project_id = ${filter.project_id}`
          const rows = yield* db.all(sql<AutomationRow>`select * from automations
            where workspace_id = ${workspaceId} and id < ${before} and deleted_at is null
            ${andState(db, filter.state)} ${ofProject} order by id desc limit ${limit + 1}`)
          return Keyset.page(rows.map(withNumbers), limit, ({ id }) => id)
        }),
        count: (workspaceId) =>
          Effect.map(
            db.first(sql<{ count: number }>`select cast(count(*) as integer) as count from automations
              where workspace_id = ${workspaceId} and deleted_at is null`),
            (row) => row?.count ?? 0
          ),
        lock: Effect.fnUntraced(function* (id) {
          const found = yield* db.first(sql<AutomationRow & { at: Timestamp }>`select automations.*,
            ${yield* db.clock.at(0)} as at from automations where id = ${id} and deleted_at is null${db.forUpdate}`)
          if (found === undefined) return undefined
          const { at, ...row } = found
          return { row: withNumbers(row), at }
        }),
        having: (what, id) =>
          Effect.map(
            db.all(sql<{ id: AutomationId }>`select id from automations
              where ${sql(what)} = ${id} and deleted_at is null order by id`),
            (rows) => rows.map((row) => row.id)
          ),
        following: db.all(sql<
          Pick<AutomationRow, "generation" | "id" | "workspace_id">
        >`select id, generation, workspace_id
          from automations where follows = 1 and state = 'active' and deleted_at is null order by id`),
        insert: (row) => db.run(sql`insert into automations ${sql.insert({ ...row })}`),
        pause: fn("AutomationStore.pause")(function* (row, { message, reason }) {
          if (row.state !== "active") return row
          if (row.fire_job_id !== null) yield* jobs.cancel(row.fire_job_id)
          return yield* update(row.id, {
            state: "paused",
            pause_reason: reason,
            pause_message: message,
            generation: row.generation + 1,
            ...notDue,
            version: row.version + 1,
            updated_at: yield* now
          })
        }),
        purge: Effect.zipRight(
          db.run(sql`delete from automations where deleted_at is not null
            and not exists (select 1 from automation_runs where automation_id = automations.id)`),
          db.run(sql`delete from followers where name = 'automations' and key not in (select id || ':' || cast(generation as text)
            from automations where follows = 1 and state = 'active' and deleted_at is null)`)
        )
      })
    })
  )
}

/** PostgreSQL gives large integers as texts. */
const withNumbers = (row: AutomationRow): AutomationRow => ({
  ...row,
  spent_tokens: Number(row.spent_tokens),
  spent_nano_usd: row.spent_nano_usd === null ? null : Number(row.spent_nano_usd)
})

/** The reason for a pause, and a sentence for people. */
export interface PauseCause {
  readonly reason: PauseReason
  readonly message: string | null
}

/** The columns of an automation that nothing makes due. */
export const notDue = { next_due_at: null, next_run_at: null, fire_job_id: null } as const
