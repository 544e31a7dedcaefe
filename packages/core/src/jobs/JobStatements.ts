import type { Fragment } from "@effect/sql/Statement"
import type { JobId } from "@reins/base/domain/Ids"
import type { Timestamp } from "@reins/base/domain/Timestamp"
import type { Moment } from "../store/Clock.js"
import type { Database } from "../store/Database.js"
import type { Claim } from "./Claim.js"
import { type JobState, waitingJobStates } from "./Job.js"
import type { JobRow } from "./JobRow.js"

/**
 * A job waits for its next attempt. The states stand in the text of the statement, because the indexes of waiting jobs, whose conditions name
 * them, serve no parameter.
 */
export const isJobWaiting = (sql: Database["Type"]["sql"]): Fragment =>
  sql.literal(`state in (${waitingJobStates.map((state) => `'${state}'`).join(", ")})`)

/** An attempt is the running one of its job, and nobody has taken it over. */
export const runs = (sql: Database["Type"]["sql"], claim: Pick<Claim, "attempt" | "bootId" | "jobId">): Fragment =>
  sql`id = ${claim.jobId} and state = 'running' and attempt_count = ${claim.attempt} and boot_id = ${claim.bootId}`

/** The columns of a job that was asked to stop. */
export type CancelledRow = Pick<JobRow, "state" | "kind" | "subject_type" | "subject_id" | "attempt_count">

/**
 * The statements that every job or attempt runs. The text of each is made once. On a node of several, `self` is its name: it takes the work that
 * is pinned to it, and work that needs no files.
 */
export const make = (
  { clock, prepare, prepareNamed, prepareRow, skipLocked, sql }: Database["Type"],
  self: string | null
) => {
  const mine = self === null ? sql`` : sql` and (node_id = ${self} or (node_id is null and session_id is null))`
  const waits = sql`${isJobWaiting(sql)} and held = 0${mine}`
  const firstOf = (kind: string) =>
    sql`select ${kind} as kind, (select min(run_at) from jobs where ${waits} and kind = ${kind}) as run_at`
  return {
    insert: prepareRow((row) => sql`insert into jobs ${sql.insert(row)}`),
    insertAttempt: prepareRow((row) => sql`insert into attempts ${sql.insert(row)}`),
    /** Begins an attempt of jobs that wait. */
    claim: prepareNamed(
      (of: {
        readonly kind: string
        readonly limit: number
        readonly now: Moment
        readonly end: Moment
        readonly workerId: string
        readonly bootId: string
      }) =>
        // Materialized, since PostgreSQL may run a plain subquery once for each row, and then takes more than the limit.
        sql<JobRow>`with due as materialized (select id from jobs where ${waits} and run_at <= ${clock.instant(of.now)}
          and kind = ${of.kind} order by run_at, id limit ${of.limit}${skipLocked})
        update jobs set state = 'running', attempt_count = attempt_count + 1,
          worker_id = ${of.workerId}, boot_id = ${of.bootId}, lease_expires_at = ${clock.instant(of.end)}
        where id in (select id from due) returning *`
    ),
    /** It is one statement: between two, a job could begin to run or to wait and be missed by both. */
    cancel: prepare(
      (id: string, at: string) => sql<CancelledRow>`update jobs set
          finished_at = case when ${isJobWaiting(sql)} then ${at} else finished_at end,
          cancel_requested = case when state = 'running' then 1 else cancel_requested end,
          state = case when ${isJobWaiting(sql)} then 'cancelled' else state end
        where id = ${id} returning state, kind, subject_type, subject_id, attempt_count`
    ),
    /** Holds the row of a claim that has not run out until the commit is through. It changes nothing. */
    hold: prepare(
      (jobId: JobId, attempt: number, bootId: string, now: Moment) =>
        sql<{ id: string }>`update jobs set attempt_count = attempt_count where ${runs(sql, { attempt, bootId, jobId })}
        and lease_expires_at > ${clock.instant(now)} returning id`
    ),
    /** The same for a claim that may have run out. */
    seize: prepare(
      (jobId: JobId, attempt: number, bootId: string) =>
        sql<{ id: string }>`update jobs set attempt_count = attempt_count
        where ${runs(sql, { attempt, bootId, jobId })} returning id`
    ),
    /** Moves the job of an attempt that ends. */
    finish: prepareNamed(
      (job: {
        readonly id: string
        readonly state: JobState
        readonly runAt: Timestamp
        readonly error: string | null
        readonly maxAttempts: number
        readonly finishedAt: Timestamp | null
      }) =>
        sql`update jobs set state = ${job.state}, run_at = ${job.runAt}, error = ${job.error},
          max_attempts = ${job.maxAttempts}, finished_at = ${job.finishedAt}, lease_expires_at = null
        where id = ${job.id} and state = 'running'`
    ),
    finishAttempt: prepare(
      (state: string, at: string, error: string | null, id: string) =>
        sql`update attempts set state = ${state}, finished_at = ${at}, error = ${error}
        where id = ${id} and state = 'running'`
    ),
    /** Pins the work that waits for the files of a session to the node that has them; null for none. */
    pin: prepare(
      (node: string | null, sessionId: string) =>
        sql`update jobs set node_id = ${node} where session_id = ${sessionId} and ${isJobWaiting(sql)}`
    ),
    /** A job that runs and needs the files of a session. */
    runsFor: prepare(
      (sessionId: string) =>
        sql<{ id: string }>`select id from jobs where session_id = ${sessionId} and state = 'running' limit 1`
    ),
    look: prepare(
      (jobId: JobId, attempt: number, bootId: string) =>
        sql<{
          lease_expires_at: Timestamp
          cancel_requested: number
        }>`select lease_expires_at, cancel_requested from jobs
        where ${runs(sql, { attempt, bootId, jobId })}`
    ),
    /** The earliest time of each kind. It costs one look into the index for each, however many jobs wait. */
    waiting: (kinds: ReadonlyArray<string>) =>
      sql<{ kind: string; run_at: Timestamp | null }>`${sql.join(" union all ", false)(kinds.map(firstOf))}`
  }
}
