import type { AutomationId, SessionId } from "@reins/base/domain/Ids"
import { fromMillis, type Timestamp } from "@reins/base/domain/Timestamp"
import { actorOf } from "@reins/core/access/Access"
import { expireJob, fireJob, startJob } from "@reins/core/automations/AutomationJobs"
import { AutomationRuns } from "@reins/core/automations/AutomationRuns"
import { Automations } from "@reins/core/automations/Automations"
import type { AutomationInput } from "@reins/core/automations/AutomationsApi"
import type { Ticket } from "@reins/core/automations/Plan"
import * as Worker from "@reins/core/jobs/Worker"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Database } from "@reins/core/store/Database"
import { ownerWithConnection } from "@reins/testing/sessions/Services"
import { Effect, Layer, Logger } from "effect"

/** A worker of the jobs of automations alone: turns stay queued until a test moves them. */
export const working = Worker.layer(Effect.all([fireJob, startJob, expireJob])).pipe(
  Layer.provide(Logger.remove(Logger.defaultLogger))
)

const dayMs = 24 * 60 * 60_000

/** The hour that is half a day away, so that no occurrence comes while a test runs. */
const hour = (new Date().getUTCHours() + 12) % 24

export const daily = { kind: "schedule", expression: `0 ${hour} * * *`, timezone: "UTC" } as const

const newest = Math.floor((Date.now() - hour * 3_600_000) / dayMs) * dayMs + hour * 3_600_000

/** The occurrence of `daily` that is so many before the newest one. */
export const daysAgo = (days: number): Timestamp => fromMillis(newest - days * dayMs)

export const inAnHour = () => fromMillis(Date.now() + 3_600_000)

const input: AutomationInput = {
  name: "Nightly",
  trigger: daily,
  target: { kind: "new_session", message: "Update what is outdated." }
}

/** The owner of a workspace, in which automations can run. */
export const given = Effect.gen(function* () {
  const { principal, workspaceId } = yield* ownerWithConnection
  const automations = yield* Automations
  const runs = yield* AutomationRuns
  const sessions = yield* Sessions
  return {
    principal,
    workspaceId,
    automations,
    runs,
    sessions,
    actor: actorOf(principal),
    add: (more: Partial<AutomationInput> = {}) =>
      automations.create(principal, workspaceId, { ...input, start_within_seconds: 86_400, ...more }),
    get: (id: string) => automations.get(principal, id),
    /** The runs of an automation, newest first. */
    runsOf: (id: string) => Effect.map(runs.list(principal, id, { limit: 200 }), ({ items }) => items),
    sessionCount: Effect.map(sessions.list(principal, workspaceId, { limit: 200 }), ({ items }) => items.length)
  }
})

/** Makes an automation due now, as if the given occurrence of its schedule had just come. */
export const makeDue = (id: AutomationId, due_at: Timestamp = daysAgo(0)) =>
  Effect.gen(function* () {
    const { first, run, sql } = yield* Database
    const row = yield* first(
      sql<{ generation: number; fire_job_id: string }>`select generation, fire_job_id from automations where id = ${id}`
    )
    if (row === undefined) return yield* Effect.dieMessage(`no automation ${id}`)
    const ticket: Ticket = { generation: row.generation, due_at }
    yield* run(sql`update automations set next_due_at = ${due_at}, next_run_at = ${due_at} where id = ${id}`)
    yield* run(
      sql`update jobs set run_at = ${due_at}, payload = ${JSON.stringify(ticket)} where id = ${row.fire_job_id}`
    )
  })

/** Waits until no job of an automation is due. */
export const settled = Effect.gen(function* () {
  const { first, sql } = yield* Database
  const due = Effect.suspend(() =>
    first(sql`select id from jobs where kind like 'automation.%' and state in ('queued', 'running', 'retry_wait')
      and run_at <= ${fromMillis(Date.now())} limit 1`)
  )
  yield* Effect.repeat(Effect.delay(due, "5 millis"), { until: (row) => row === undefined })
})

/** Works until nothing of automations is due. */
export const work = Effect.provide(settled, working)

/** Fires an automation for an occurrence, and gives its newest run. */
export const fire = (id: AutomationId, due_at?: Timestamp) => Effect.zipRight(makeDue(id, due_at), work)

export const sessionOf = ({ session_id }: { readonly session_id: SessionId | null }) =>
  session_id === null ? Effect.dieMessage("a run without a session") : Effect.succeed(session_id)
