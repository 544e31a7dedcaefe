import { fromMillis, type Timestamp, toMillis } from "@reins/base/domain/Timestamp"
import { Effect } from "effect"
import { JobStore } from "../jobs/JobStore.js"
import type { TimedTrigger } from "./Automation.js"
import { type AutomationRow, notDue } from "./AutomationStore.js"

/** The kind of the job that fires an automation; its payload is a `Ticket`. */
export const fireJobKind = "automation.fire"

/** The occurrence that a job is for. It is void when the automation has another generation or another next time. */
export interface Ticket {
  readonly generation: number
  readonly due_at: Timestamp
  /** True for one that was put off, because much was due at once. */
  readonly put_off?: boolean
}

/** The next occurrence, and the time at which its run begins. */
export interface Planned {
  readonly due_at: Timestamp
  readonly run_at: Timestamp
}

/** The functions of `Schedules.ts`, which brings a library that an installation without automations never loads. */
export type Schedules = typeof import("./Schedules.js")

export const loadSchedules: Effect.Effect<Schedules> = Effect.promise(() => import("./Schedules.js"))

/** The first occurrence of a trigger after an instant; undefined when there is none. */
export const plannedAfter = (
  { jitterMs, scheduleOf }: Schedules,
  id: string,
  trigger: TimedTrigger,
  after: Timestamp
): Planned | undefined => {
  const schedule = scheduleOf(trigger)
  const due = schedule.next(toMillis(after))
  if (due === undefined) return undefined
  return { due_at: fromMillis(due), run_at: fromMillis(due + jitterMs(id, trigger, schedule, due)) }
}

/** Gives the function that makes the job of an occurrence, and gives the columns that tell of it. */
export const makePlan = Effect.gen(function* () {
  const jobs = yield* JobStore
  return Effect.fnUntraced(function* (
    row: Pick<AutomationRow, "generation" | "id" | "workspace_id">,
    planned: Planned | undefined,
    putOff = false
  ) {
    if (planned === undefined) return notDue
    const { due_at, run_at } = planned
    const ticket: Ticket = { generation: row.generation, due_at, ...(putOff && { put_off: true }) }
    const { job_id } = yield* jobs.enqueue({
      kind: fireJobKind,
      subject: { type: "automation", id: row.id },
      workspaceId: row.workspace_id,
      payload: { ...ticket },
      maxAttempts: 20,
      runAt: run_at
    })
    return { next_due_at: due_at, next_run_at: run_at, fire_job_id: job_id }
  })
})
