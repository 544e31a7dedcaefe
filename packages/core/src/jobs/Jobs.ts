import type { Fragment } from "@effect/sql/Statement"
import { Context, Effect, Layer, Random } from "effect"
import { Access } from "../access/Access.js"
import { CoreConfig } from "../base/CoreConfig.js"
import { fn } from "../base/Traced.js"
import { AttemptId, JobId, newId, OperationId, type WorkspaceId } from "../domain/Ids.js"
import type { Job, JobFailure, JobState, Operation, OperationRef, Subject } from "../domain/Job.js"
import type { Principal } from "../domain/Principal.js"
import { notFound, type ReinsError } from "../domain/ReinsError.js"
import { fromNow, now, type Timestamp } from "../domain/Timestamp.js"
import { jobsTopic, jobTopic } from "../store/Bell.js"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import { Journal } from "../store/Journal.js"
import * as JobRow from "./JobRow.js"
import * as JobStatements from "./JobStatements.js"

export interface NewJob {
  readonly kind: string
  readonly subject: Subject
  /** Null for work that belongs to no workspace (mail), which no API caller can read. */
  readonly workspaceId: WorkspaceId | null
  readonly payload: Readonly<Record<string, unknown>>
  readonly maxAttempts: number
  /** A held job waits until it is released. */
  readonly held?: boolean
  /** The job is not attempted before this time. */
  readonly runAt?: Timestamp
}

/** A job that a worker has claimed, with the attempt that entitles it to write. */
export interface Claim {
  readonly workerId: string
  /** The boot that may write: the worker's, or the one that ends the attempt in its place. */
  readonly bootId: string
  readonly jobId: JobId
  readonly operationId: OperationId
  readonly kind: string
  readonly subject: Subject
  readonly payload: Readonly<Record<string, unknown>>
  readonly attemptId: AttemptId
  readonly attempt: number
  readonly maxAttempts: number
}

/**
 * How a worker was lost: its process has `ended`, or it lives or not and was `silent` until its claim ran out.
 */
export type Loss = "ended" | "silent"

/** How an attempt ended, and what becomes of its job. */
export type Outcome =
  | { readonly state: "succeeded" }
  | { readonly state: "cancelled" }
  | { readonly state: "failed"; readonly error: JobFailure; readonly attempt: "failed" | "abandoned" | "unknown" }
  | {
      readonly state: "retry_wait"
      readonly error: JobFailure
      readonly attempt: "failed" | "abandoned" | "unknown"
      readonly delayMs: number
    }

/** Durable work. A job commits with the command that wants it; its attempts are the evidence that the API shows. */
export class Jobs extends Context.Tag("@reins/core/jobs/Jobs")<
  Jobs,
  {
    /** The lifetime of a claim, in milliseconds. A worker renews it three times before it runs out. */
    readonly leaseMs: number

    readonly enqueue: (job: NewJob) => Effect.Effect<OperationRef, never, Commit>
    /** Lets a held job run. A job that has ended or is not held is left as it is. */
    readonly release: (jobId: JobId) => Effect.Effect<void, never, Commit>
    /** Ends a job that waits, or asks the worker of a running one to stop. True when nobody works on it from now on. */
    readonly cancel: (jobId: JobId) => Effect.Effect<boolean, never, Commit>
    /** Takes up to `limit` due jobs of a kind for a worker, oldest first. */
    readonly claim: (
      kind: string,
      limit: number,
      worker: { readonly workerId: string; readonly bootId: string }
    ) => Effect.Effect<ReadonlyArray<Claim>>
    /** Prolongs the claim. False when the attempt is no longer the running one; `cancelRequested` says that the work should stop. */
    readonly renew: (claim: Claim) => Effect.Effect<{ readonly held: boolean; readonly cancelRequested: boolean }>
    /**
     * True while the attempt is the running one and its claim has not run out; nobody else can take the job until the
     * commit is through. A worker that was stopped beyond its claim finds false, also when nobody has taken the job over yet.
     */
    readonly fence: (claim: Claim) => Effect.Effect<boolean, never, Commit>
    /**
     * Makes a boot the only one that may end an attempt whose worker is lost, for the lifetime of a claim; its worker cannot write
     * any more, should it live. Undefined when another has ended it or taken it over, or when a silent worker has renewed its claim.
     */
    readonly takeOver: (claim: Claim, loss: Loss, bootId: string) => Effect.Effect<Claim | undefined>
    /** `fence` for whoever has taken over an attempt: a claim that has run out does as well. */
    readonly seize: (claim: Claim) => Effect.Effect<boolean, never, Commit>
    /** Ends the attempt and moves its job, which may have `maxAttempts` of the claim from then on. Its error says in words when the next attempt is due. After `fence` or `seize`. */
    readonly finish: (claim: Claim, outcome: Outcome) => Effect.Effect<void, never, Commit>
    /**
     * Running jobs whose worker is lost: its claim ran out, or its process has ended. That is known of the `ended` boots, and of every
     * other boot when this process is `alone`.
     */
    readonly listLost: (boots: {
      readonly bootId: string
      readonly alone: boolean
      readonly ended: ReadonlyArray<string>
    }) => Effect.Effect<ReadonlyArray<{ readonly claim: Claim; readonly loss: Loss }>>
    /** Makes due what waits only because the clock was ahead when it was written down: it was due at once, or after a back-off. */
    readonly catchUp: Effect.Effect<void>
    /** When the first waiting job of each of these kinds is due. A kind is absent when none waits. */
    readonly waiting: (kinds: ReadonlyArray<string>) => Effect.Effect<ReadonlyMap<string, Timestamp>>
    /** When the claim runs out, and whether the work should stop; undefined when the attempt is no longer the running one. */
    readonly look: (
      claim: Claim
    ) => Effect.Effect<{ readonly endsAt: Timestamp; readonly cancelRequested: boolean } | undefined>
    /** Whether a boot holds no claim that has not run out. */
    readonly isSilent: (bootId: string) => Effect.Effect<boolean>
    /** The newest job that was enqueued for a subject, which has one. */
    readonly newestOf: (subjectId: string) => Effect.Effect<OperationRef>
    /** Whether an attempt for a subject has ended without anybody knowing how far it came. */
    readonly isUnproven: (subjectId: string) => Effect.Effect<boolean>
    readonly get: (principal: Principal, jobId: string) => Effect.Effect<Job, ReinsError>
    readonly operation: (principal: Principal, operationId: string) => Effect.Effect<Operation, ReinsError>
  }
>() {
  static readonly layer = Layer.effect(
    Jobs,
    Effect.gen(function* () {
      const { leaseMs } = yield* CoreConfig
      const db = yield* Database
      const journal = yield* Journal
      const access = yield* Access
      const sql = db.sql
      const statements = JobStatements.make(db)

      const wake = journal.ringAfterCommit(jobsTopic)

      /** The attempt is the running one, and nobody has taken it over. */
      const runs = (claim: Claim) =>
        sql`id = ${claim.jobId} and state = 'running' and attempt_count = ${claim.attempt} and boot_id = ${claim.bootId}`
      /** Holds the row of a running attempt whose claim ends after the given time. */
      const hold = ({ attempt, bootId, jobId }: Claim, endsAfter: string) =>
        Effect.map(db.first(statements.hold(jobId, attempt, bootId, endsAfter)), (row) => row !== undefined)

      /** The jobs of one workspace, if the principal may see it; there is none among them that the condition does not name. */
      const visible = Effect.fnUntraced(function* (principal: Principal, where: Fragment) {
        const { jobs, workspaceId } = yield* JobRow.read(db, where)
        if (workspaceId === null) return yield* notFound()
        yield* access.read(principal, workspaceId)
        return jobs
      })

      return Jobs.of({
        leaseMs,
        enqueue: fn("Jobs.enqueue")(function* (job) {
          yield* wake
          const id = yield* newId(JobId)
          const operationId = yield* newId(OperationId)
          const at = yield* now
          yield* db.run(
            statements.insert({
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
        release: fn("Jobs.release")(function* (jobId) {
          yield* wake
          yield* db.run(sql`update jobs set held = 0, run_at = created_at where id = ${jobId} and held = 1`)
        }),
        cancel: fn("Jobs.cancel")(function* (jobId) {
          yield* journal.ringAfterCommit(jobTopic(jobId))
          const at = yield* now
          // One statement: between two, a job could begin to run or to wait and be missed by both.
          const job = yield* db.first(sql<{ state: JobState }>`update jobs set
            finished_at = case when state in ('queued', 'retry_wait') then ${at} else finished_at end,
            cancel_requested = case when state = 'running' then 1 else cancel_requested end,
            state = case when state in ('queued', 'retry_wait') then 'cancelled' else state end
          where id = ${jobId} returning state`)
          return job?.state !== "running"
        }),
        claim: fn("Jobs.claim")(function* (kind, limit, worker) {
          const at = yield* now
          const expiresAt = yield* fromNow(leaseMs)
          return yield* db.transaction(
            Effect.gen(function* () {
              const rows = yield* db.all(statements.claim(worker.workerId, worker.bootId, expiresAt, at, kind, limit))
              // PostgreSQL does not promise an order of what is returned.
              const oldestFirst = [...rows].sort((a, b) => (a.id < b.id ? -1 : 1))
              return yield* Effect.forEach(oldestFirst, (row) =>
                Effect.gen(function* () {
                  const attemptId = yield* newId(AttemptId)
                  yield* db.run(
                    statements.insertAttempt({
                      id: attemptId,
                      job_id: row.id,
                      ordinal: row.attempt_count,
                      state: "running",
                      worker_id: worker.workerId,
                      boot_id: worker.bootId,
                      started_at: at,
                      heartbeat_at: at
                    })
                  )
                  return JobRow.toClaim(row, attemptId, worker)
                })
              )
            })
          )
        }),
        renew: fn("Jobs.renew")(function* (claim) {
          const at = yield* now
          const expiresAt = yield* fromNow(leaseMs)
          return yield* db.transaction(
            Effect.gen(function* () {
              const job = yield* db.first(sql<{
                cancel_requested: number
              }>`update jobs set lease_expires_at = ${expiresAt}
            where ${runs(claim)} and lease_expires_at > ${at} returning cancel_requested`)
              if (job === undefined) return { held: false, cancelRequested: false }
              yield* db.run(sql`update attempts set heartbeat_at = ${at} where id = ${claim.attemptId}`)
              return { held: true, cancelRequested: job.cancel_requested === 1 }
            })
          )
        }),
        fence: (claim) => Effect.flatMap(now, (at) => hold(claim, at)),
        takeOver: fn("Jobs.takeOver")(function* (claim, loss, bootId) {
          const at = yield* now
          const expiresAt = yield* fromNow(leaseMs)
          const isLost = loss === "silent" ? sql`lease_expires_at <= ${at}` : sql`1 = 1`
          const row = yield* db.first(sql<{
            id: string
          }>`update jobs set boot_id = ${bootId}, lease_expires_at = ${expiresAt}
            where ${runs(claim)} and ${isLost} returning id`)
          return row === undefined ? undefined : { ...claim, bootId }
        }),
        seize: (claim) => hold(claim, ""),
        finish: fn("Jobs.finish")(function* (claim, outcome) {
          yield* wake
          const at = yield* now
          const ended = outcome.state !== "retry_wait"
          const runAt = outcome.state === "retry_wait" && outcome.delayMs > 0 ? yield* fromNow(outcome.delayMs) : at
          const failure = failureOf(claim, outcome, at, runAt)
          const error = failure === undefined ? null : JSON.stringify(failure)
          const attemptState =
            "attempt" in outcome ? outcome.attempt : outcome.state === "cancelled" ? "failed" : "succeeded"
          yield* db.run(
            statements.finish(outcome.state, runAt, error, claim.maxAttempts, ended ? at : null, claim.jobId)
          )
          yield* db.run(statements.finishAttempt(attemptState, at, error, claim.attemptId))
        }),
        listLost: fn("Jobs.listLost")(function* ({ alone, bootId, ended }) {
          const at = yield* now
          const gone = alone
            ? sql`jobs.boot_id <> ${bootId}`
            : ended.length > 0
              ? sql.in("jobs.boot_id", ended)
              : sql`1 = 0`
          const rows = yield* db.all(sql<
            JobRow.JobRow & { attempt_id: AttemptId; worker_id: string; boot_id: string; is_gone: number }
          >`select jobs.*, attempts.id as attempt_id, case when ${gone} then 1 else 0 end as is_gone from jobs
          join attempts on attempts.job_id = jobs.id and attempts.ordinal = jobs.attempt_count
          where jobs.state = 'running' and (jobs.lease_expires_at <= ${at} or ${gone})
          order by jobs.id`)
          return rows.map((row) => ({
            claim: JobRow.toClaim(row, row.attempt_id, { workerId: row.worker_id, bootId: row.boot_id }),
            loss: row.is_gone === 1 ? ("ended" as const) : ("silent" as const)
          }))
        }),
        catchUp: Effect.gen(function* () {
          const at = yield* now
          const latest = yield* fromNow(maxBackOffMs)
          const rows = yield* db.all(sql<{ id: string }>`select id from jobs where state in ('queued', 'retry_wait')
            and run_at > ${at} and (run_at = created_at or (state = 'retry_wait' and run_at > ${latest}))`)
          if (rows.length === 0) return
          const ids = rows.map(({ id }) => id)
          yield* db.run(
            sql`update jobs set run_at = ${at} where state in ('queued', 'retry_wait') and ${sql.in("id", ids)}`
          )
        }),
        waiting: (kinds) =>
          kinds.length === 0
            ? Effect.succeed(new Map())
            : Effect.map(
                db.all(statements.waiting(kinds)),
                (rows) =>
                  new Map(rows.flatMap(({ kind, run_at }) => (run_at === null ? [] : [[kind, run_at] as const])))
              ),
        look: (claim) =>
          Effect.map(
            db.first(statements.look(claim.jobId, claim.attempt, claim.bootId)),
            (row) => row && { endsAt: row.lease_expires_at, cancelRequested: row.cancel_requested === 1 }
          ),
        isSilent: (bootId) =>
          Effect.flatMap(now, (at) =>
            Effect.map(
              db.first(sql`select id from jobs
              where state = 'running' and boot_id = ${bootId} and lease_expires_at > ${at} limit 1`),
              (living) => living === undefined
            )
          ),
        newestOf: (subjectId) =>
          Effect.flatMap(
            db.first(sql<{
              id: JobId
              operation_id: OperationId
              state: JobState
            }>`select id, operation_id, state from jobs
            where subject_id = ${subjectId} order by id desc limit 1`),
            (row) =>
              row === undefined
                ? Effect.dieMessage(`no job for ${subjectId}`)
                : Effect.succeed({ id: row.operation_id, job_id: row.id, state: row.state })
          ),
        isUnproven: (subjectId) =>
          Effect.map(
            db.first(sql`select attempts.id from attempts join jobs on jobs.id = attempts.job_id
            where jobs.subject_id = ${subjectId} and attempts.state in ('unknown', 'abandoned') limit 1`),
            (row) => row !== undefined
          ),
        get: fn("Jobs.get")(function* (principal, jobId) {
          const [job] = yield* visible(principal, sql`jobs.id = ${jobId}`)
          return job ?? (yield* notFound())
        }),
        operation: fn("Jobs.operation")(function* (principal, operationId) {
          const jobs = yield* visible(principal, sql`jobs.operation_id = ${operationId}`)
          const last = jobs.at(-1)
          if (last === undefined) return yield* notFound()
          return {
            id: last.operation_id,
            kind: last.kind,
            state: last.state,
            subject: last.subject,
            jobs,
            created_at: last.created_at,
            finished_at: last.finished_at
          }
        })
      })
    })
  )
}

/** min(2^n, 300) seconds, 10 % more or less. */
export const backOff = (attempt: number): Effect.Effect<number> =>
  Effect.map(Random.next, (share) => Math.round(Math.min(2 ** attempt, 300) * 1000 * (0.9 + share * 0.2)))

/** No back-off is longer. */
const maxBackOffMs = 330_000

/** Why an attempt did not succeed, and in words what becomes of its job. */
const failureOf = (claim: Claim, outcome: Outcome, at: Timestamp, runAt: Timestamp): JobFailure | undefined => {
  if (outcome.state === "succeeded") return undefined
  if (outcome.state === "cancelled")
    return { code: "cancelled", message: "It was cancelled, and its worker stopped.", retryable: false }
  const { error } = outcome
  const next = `Attempt ${claim.attempt + 1} of ${claim.maxAttempts} is due`
  if (outcome.state === "retry_wait")
    return { ...error, message: `${error.message} ${next} ${runAt === at ? "at once" : `at ${runAt}`}.` }
  return error.retryable && claim.maxAttempts > 1
    ? { ...error, message: `${error.message} This was the last of ${claim.maxAttempts} attempts.`, retryable: false }
    : error
}
