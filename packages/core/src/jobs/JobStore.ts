import type { Fragment } from "@effect/sql/Statement"
import { AgentTraces, keptPlace, placeIn, type TraceParent } from "@reins/base/base/AgentTraces"
import { type JobEnd, Observer } from "@reins/base/base/Observer"
import { fn } from "@reins/base/base/Traced"
import { JobId, newId, OperationId, type SessionId, type WorkspaceId } from "@reins/base/domain/Ids"
import { now, type Timestamp } from "@reins/base/domain/Timestamp"
import { Context, Effect, Layer } from "effect"
import { Nodes } from "../placement/Nodes.js"
import { Placements, SessionBusy } from "../placement/Placements.js"
import { jobsTopic, jobTopic } from "../store/Bell.js"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import { Journal } from "../store/Journal.js"
import { type JobState, liveJobStates, type OperationRef, type Subject, unprovenAttemptStates } from "./Job.js"
import * as JobStatements from "./JobStatements.js"
import { deletionJobKind, isJobOf, projectDeletionKind } from "./SessionRows.js"

/** Work that is to be done after a commit. */
export interface NewJob {
  readonly kind: string
  readonly subject: Subject
  /** Null for work that belongs to no workspace, such as mail. No caller of the API can read it. */
  readonly workspaceId: WorkspaceId | null
  readonly payload: Readonly<Record<string, unknown>>
  readonly maxAttempts: number
  /** The session whose files the work needs. On several machines it is done by the node that has them. Absent for work that any node can do. */
  readonly filesOf?: SessionId
  /** The node that is to do work without files. Absent for any. */
  readonly onNode?: string
  /** A held job waits until it is released. */
  readonly held?: boolean
  /** The job is not attempted before this time. */
  readonly runAt?: Timestamp
  /**
   * The job is the same work as what asks for it, and so a part of its trace. Jobs that ask for themselves again and again are not, because their
   * trace would never end.
   */
  readonly isSameWork?: true
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
    /** The job of a kind for a subject that a workspace has requested and that has not ended. Undefined when there is none. */
    readonly findLive: (of: {
      readonly kind: string
      readonly subjectId: string
      readonly workspaceId: WorkspaceId
    }) => Effect.Effect<OperationRef | undefined>
    /** The jobs of a session, or of what is in it, that have not ended, but for its deletion. */
    readonly liveOf: (sessionId: SessionId) => Effect.Effect<ReadonlyArray<JobId>>
    /** The jobs of a workspace that have not ended, but for deletions. */
    readonly liveIn: (workspaceId: string) => Effect.Effect<ReadonlyArray<JobId>>
    /** True when an attempt for the subject has ended and its progress is not known. */
    readonly isUnproven: (subjectId: string) => Effect.Effect<boolean>
    /** The place in a trace where the job of a kind for a subject was asked for. Undefined when there is no such job. */
    readonly placeOf: (
      kind: string,
      subjectId: string
    ) => Effect.Effect<{ readonly within: TraceParent | undefined } | undefined>
    /** The number of jobs of each kind in each state that is not an end. What has no job is absent. */
    readonly countLive: Effect.Effect<ReadonlyArray<LiveJobs>>
  }
>() {
  static readonly layer = Layer.effect(
    JobStore,
    Effect.gen(function* () {
      const db = yield* Database
      const journal = yield* Journal
      const observer = yield* Observer
      const placements = yield* Placements
      const traces = yield* AgentTraces
      const { self } = yield* Nodes
      const sql = db.sql
      const { cancel, insert, pin, runsFor } = JobStatements.make(db, self)
      const wake = journal.ringAfterCommit(jobsTopic)

      /** The node that has the files of a session. Null on one machine, and for a session that has no node yet. */
      const nodeOf = Effect.fnUntraced(function* (sessionId: SessionId | undefined) {
        if (self === null || sessionId === undefined) return null
        const place = yield* placements.at(sessionId)
        return place.kind === "here" || place.kind === "elsewhere" ? place.node : null
      })
      yield* placements.onPlaced(
        Effect.fnUntraced(function* (sessionId, node) {
          yield* wake
          // From here on nobody claims what waits, so what does not run now will not run before the commit is through.
          yield* db.run(pin(node, sessionId))
          const running = node === null ? yield* db.first(runsFor(sessionId)) : undefined
          if (running !== undefined) return yield* new SessionBusy({ sessionId })
        })
      )

      return JobStore.of({
        enqueue: fn("JobStore.enqueue")(function* (job) {
          yield* wake
          const id = yield* newId(JobId)
          const operationId = yield* newId(OperationId)
          const at = yield* now
          const place = traces && job.isSameWork && keptPlace(yield* traces.here)
          yield* db.run(
            insert({
              id,
              operation_id: operationId,
              workspace_id: job.workspaceId,
              kind: job.kind,
              state: "queued",
              subject_type: job.subject.type,
              subject_id: job.subject.id,
              payload: JSON.stringify(place === undefined ? job.payload : { ...job.payload, ...place }),
              attempt_count: 0,
              max_attempts: job.maxAttempts,
              held: job.held === true ? 1 : 0,
              session_id: job.filesOf ?? null,
              node_id: job.onNode ?? (yield* nodeOf(job.filesOf)),
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
          if (job?.state === "cancelled") yield* journal.afterCommit(observer.jobEnded(cancelledEnd(jobId, job)))
          return job?.state !== "running"
        }),
        newestOf: (subjectId) =>
          Effect.flatMap(
            db.first(sql<NewestRow>`select id, operation_id, state from jobs
            where subject_id = ${subjectId} order by id desc limit 1`),
            (row) => (row === undefined ? Effect.dieMessage(`no job for ${subjectId}`) : Effect.succeed(refOf(row)))
          ),
        findLive: ({ kind, subjectId, workspaceId }) =>
          Effect.map(
            db.first(sql<NewestRow>`select id, operation_id, state from jobs
            where subject_id = ${subjectId} and kind = ${kind} and workspace_id = ${workspaceId}
              and ${sql.in("state", liveJobStates)} order by id desc limit 1`),
            (row) => row && refOf(row)
          ),
        ...makeLive(db),
        placeOf: placeOf(db),
        isUnproven: (subjectId) =>
          Effect.map(
            db.first(sql`select attempts.id from attempts join jobs on jobs.id = attempts.job_id
            where jobs.subject_id = ${subjectId} and ${sql.in("attempts.state", unprovenAttemptStates)} limit 1`),
            (row) => row !== undefined
          ),
        countLive: db.all(sql<LiveJobs>`select kind, state, cast(count(*) as integer) as count
          from jobs where ${sql.in("state", liveJobStates)} group by kind, state`)
      })
    })
  )
}

/** The reads of jobs that have not ended. */
const makeLive = ({ all, sql }: Database["Type"]): Pick<JobStore["Type"], "liveIn" | "liveOf"> => {
  const live = (of: Fragment) =>
    Effect.map(
      all(sql<{ id: JobId }>`select id from jobs where ${of} and ${sql.in("state", liveJobStates)} order by id`),
      (rows) => rows.map(({ id }) => id)
    )
  return {
    liveOf: (sessionId) => live(isJobOf(sql, sessionId)),
    liveIn: (workspaceId) =>
      live(sql`workspace_id = ${workspaceId} and kind not in (${deletionJobKind}, ${projectDeletionKind})`)
  }
}

/** `JobStore.placeOf`. */
const placeOf =
  ({ first, sql }: Database["Type"]): JobStore["Type"]["placeOf"] =>
  (kind, subjectId) =>
    Effect.map(
      first(sql<{ payload: string }>`select payload from jobs
      where subject_id = ${subjectId} and kind = ${kind} order by id limit 1`),
      (row) => row && { within: placeIn(JSON.parse(row.payload)) }
    )

/** The number of jobs of a kind that are in a state. */
export interface LiveJobs {
  readonly kind: string
  readonly state: JobState
  readonly count: number
}

const cancelledEnd = (jobId: JobId, row: JobStatements.CancelledRow): JobEnd => ({
  jobId,
  kind: row.kind,
  subject: { type: row.subject_type, id: row.subject_id },
  state: "cancelled",
  attempt: row.attempt_count,
  error: { code: "cancelled", message: "It was cancelled before another attempt began.", retryable: false }
})

const refOf = (row: NewestRow): OperationRef => ({ id: row.operation_id, job_id: row.id, state: row.state })

interface NewestRow {
  readonly id: JobId
  readonly operation_id: OperationId
  readonly state: JobState
}
