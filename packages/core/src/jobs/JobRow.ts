import type { Fragment } from "@effect/sql/Statement"
import { fn } from "@reins/base/base/Traced"
import type { AttemptId, JobId, OperationId, SessionId, WorkspaceId } from "@reins/base/domain/Ids"
import type { Timestamp } from "@reins/base/domain/Timestamp"
import type { Database } from "../store/Database.js"
import type { Claim } from "./Claim.js"
import type { Attempt, Job, JobState } from "./Job.js"

/** A job as it is stored. */
export interface JobRow {
  readonly id: JobId
  readonly operation_id: OperationId
  readonly workspace_id: WorkspaceId | null
  readonly kind: string
  readonly state: JobState
  readonly subject_type: string
  readonly subject_id: string
  readonly payload: string
  readonly attempt_count: number
  readonly max_attempts: number
  readonly run_at: Timestamp
  readonly error: string | null
  readonly created_at: Timestamp
  readonly finished_at: Timestamp | null
  /** The session whose files the work needs; null for none. */
  readonly session_id: SessionId | null
}

/** A job with one of its attempts, or with none. */
interface ReadRow extends JobRow {
  readonly attempt_id: AttemptId | null
  readonly attempt_ordinal: number
  readonly attempt_state: Attempt["state"]
  readonly attempt_worker_id: string
  readonly attempt_started_at: Timestamp
  readonly attempt_heartbeat_at: Timestamp
  readonly attempt_finished_at: Timestamp | null
  readonly attempt_error: string | null
}

/**
 * The jobs that a condition names, with their attempts, and the workspace of the first of them. It is one statement: between
 * two, an attempt could begin or end, and the job would contradict its attempts.
 */
export const readJobs = fn("JobRow.read")(function* ({ all, sql }: Database["Type"], where: Fragment) {
  const rows = yield* all(sql<ReadRow>`select jobs.*, attempts.id as attempt_id, attempts.ordinal as attempt_ordinal,
      attempts.state as attempt_state, attempts.worker_id as attempt_worker_id, attempts.started_at as attempt_started_at,
      attempts.heartbeat_at as attempt_heartbeat_at, attempts.finished_at as attempt_finished_at, attempts.error as attempt_error
    from jobs left join attempts on attempts.job_id = jobs.id where ${where} order by jobs.id, attempts.ordinal`)
  const byJob = new Map<JobId, Array<ReadRow>>()
  for (const row of rows) byJob.set(row.id, [...(byJob.get(row.id) ?? []), row])
  const jobs = [...byJob.values()].flatMap((ofJob) => ofJob.slice(0, 1).map((row) => toJob(row, ofJob)))
  return { jobs, workspaceId: rows[0]?.workspace_id ?? null }
})

/** The claim of a worker on a job whose attempt it has begun. */
export const toClaim = (row: JobRow, attemptId: AttemptId, worker: Pick<Claim, "workerId" | "bootId">): Claim => ({
  ...worker,
  jobId: row.id,
  operationId: row.operation_id,
  kind: row.kind,
  subject: { type: row.subject_type, id: row.subject_id },
  payload: JSON.parse(row.payload),
  filesOf: row.session_id,
  attemptId,
  attempt: row.attempt_count,
  maxAttempts: row.max_attempts
})

const toJob = (row: JobRow, rows: ReadonlyArray<ReadRow>): Job => ({
  id: row.id,
  operation_id: row.operation_id,
  kind: row.kind,
  state: row.state,
  subject: { type: row.subject_type, id: row.subject_id },
  attempt_count: row.attempt_count,
  max_attempts: row.max_attempts,
  run_at: row.finished_at === null ? row.run_at : null,
  error: row.error === null ? null : JSON.parse(row.error),
  attempts: rows.flatMap(attemptOf),
  created_at: row.created_at,
  finished_at: row.finished_at
})

const attemptOf = (row: ReadRow): ReadonlyArray<Attempt> =>
  row.attempt_id === null
    ? []
    : [
        {
          id: row.attempt_id,
          ordinal: row.attempt_ordinal,
          state: row.attempt_state,
          worker_id: row.attempt_worker_id,
          started_at: row.attempt_started_at,
          heartbeat_at: row.attempt_heartbeat_at,
          finished_at: row.attempt_finished_at,
          error: row.attempt_error === null ? null : JSON.parse(row.attempt_error)
        }
      ]
