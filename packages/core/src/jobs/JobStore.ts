import { Context, Effect, Layer } from "effect"
import { fn } from "../base/Traced.js"
import { JobId, newId, OperationId, type WorkspaceId } from "../domain/Ids.js"
import { type JobState, liveJobStates, type OperationRef, type Subject, unprovenAttemptStates } from "../domain/Job.js"
import { now, type Timestamp } from "../domain/Timestamp.js"
import { jobsTopic, jobTopic } from "../store/Bell.js"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import { Journal } from "../store/Journal.js"
import * as JobStatements from "./JobStatements.js"

/** Work that is to be done after a commit. */
export interface NewJob {
  readonly kind: string
  readonly subject: Subject
  /** Null for work that belongs to no workspace, such as mail. No caller of the API can read it. */
  readonly workspaceId: WorkspaceId | null
  readonly payload: Readonly<Record<string, unknown>>
  readonly maxAttempts: number
  /** A held job waits until it is released. */
  readonly held?: boolean
  /** The job is not attempted before this time. */
  readonly runAt?: Timestamp
}

/**
 * Lets other rooms request durable work and read its progress. A job commits with the command that requests it. `JobClaims` serves the workers.
 */
export class JobStore extends Context.Tag("@reins/core/jobs/JobStore")<
  JobStore,
  {
    /** Writes a job, which a worker may claim as soon as the commit is through. */
    readonly enqueue: (job: NewJob) => Effect.Effect<OperationRef, never, Commit>
    /** Lets a held job run. A job that has ended or is not held is left as it is. */
    readonly release: (jobId: JobId) => Effect.Effect<void, never, Commit>
    /** Ends a waiting job, or asks the worker of a running one to stop. True when no worker works on it from now on. */
    readonly cancel: (jobId: JobId) => Effect.Effect<boolean, never, Commit>
    /** The newest job for a subject. Dies when the subject never had one. */
    readonly newestOf: (subjectId: string) => Effect.Effect<OperationRef>
    /** True when an attempt for the subject has ended and its progress is not known. */
    readonly isUnproven: (subjectId: string) => Effect.Effect<boolean>
    /** The number of jobs in each state that is not an end. A state without a job is absent. */
    readonly countLive: Effect.Effect<ReadonlyMap<JobState, number>>
  }
>() {
  static readonly layer = Layer.effect(
    JobStore,
    Effect.gen(function* () {
      const db = yield* Database
      const journal = yield* Journal
      const sql = db.sql
      const { cancel, insert } = JobStatements.make(db)
      const wake = journal.ringAfterCommit(jobsTopic)

      return JobStore.of({
        enqueue: fn("JobStore.enqueue")(function* (job) {
          yield* wake
          const id = yield* newId(JobId)
          const operationId = yield* newId(OperationId)
          const at = yield* now
          yield* db.run(
            insert({
              id,
              operation_id: operationId,
              workspace_id: job.workspaceId,
              kind: job.kind,
              state: "queued",
              subject_type: job.subject.type,
              subject_id: job.subject.id,
              payload: JSON.stringify(job.payload),
              attempt_count: 0,
              max_attempts: job.maxAttempts,
              held: job.held === true ? 1 : 0,
              run_at: job.runAt ?? at,
              cancel_requested: 0,
              created_at: at
            })
          )
          return { id: operationId, job_id: id, state: "queued" as const }
        }),
        release: fn("JobStore.release")(function* (jobId) {
          yield* wake
          yield* db.run(sql`update jobs set held = 0, run_at = created_at where id = ${jobId} and held = 1`)
        }),
        cancel: fn("JobStore.cancel")(function* (jobId) {
          yield* journal.ringAfterCommit(jobTopic(jobId))
          const job = yield* db.first(cancel(jobId, yield* now))
          return job?.state !== "running"
        }),
        newestOf: (subjectId) =>
          Effect.flatMap(
            db.first(sql<NewestRow>`select id, operation_id, state from jobs
            where subject_id = ${subjectId} order by id desc limit 1`),
            (row) =>
              row === undefined
                ? Effect.dieMessage(`no job for ${subjectId}`)
                : Effect.succeed({ id: row.operation_id, job_id: row.id, state: row.state })
          ),
        isUnproven: (subjectId) =>
          Effect.map(
            db.first(sql`select attempts.id from attempts join jobs on jobs.id = attempts.job_id
            where jobs.subject_id = ${subjectId} and ${sql.in("attempts.state", unprovenAttemptStates)} limit 1`),
            (row) => row !== undefined
          ),
        countLive: Effect.map(
          db.all(sql<{ state: JobState; count: number }>`select state, cast(count(*) as integer) as count
            from jobs where ${sql.in("state", liveJobStates)} group by state`),
          (rows) => new Map(rows.map(({ count, state }) => [state, count]))
        )
      })
    })
  )
}

interface NewestRow {
  readonly id: JobId
  readonly operation_id: OperationId
  readonly state: JobState
}
