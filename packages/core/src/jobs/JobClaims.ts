import { CoreConfig } from "@reins/base/base/CoreConfig"
import { type Observations, Observer } from "@reins/base/base/Observer"
import { fn } from "@reins/base/base/Traced"
import { AttemptId, newId, type SessionId } from "@reins/base/domain/Ids"
import { fromNow, now, type Timestamp } from "@reins/base/domain/Timestamp"
import { Context, Effect, Layer } from "effect"
import { Nodes } from "../placement/Nodes.js"
import { Placements } from "../placement/Placements.js"
import { jobsTopic } from "../store/Bell.js"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import { Journal } from "../store/Journal.js"
import { type Claim, type Loss, maxBackOffMs, type Outcome } from "./Claim.js"
import { attemptStates, type JobFailure, jobStates } from "./Job.js"
import * as JobRow from "./JobRow.js"
import * as JobStatements from "./JobStatements.js"

/**
 * The jobs as workers see them. A worker claims a job, renews its claim while it works, and ends the attempt. Another worker can take over a
 * claim that has run out. `claim`, `renew`, `takeOver` and `catchUp` are commits of their own, because they say who may work, and that has to
 * stand even when the work fails.
 */
export class JobClaims extends Context.Tag("@reins/core/jobs/JobClaims")<
  JobClaims,
  {
    /** The lifetime of a claim, in milliseconds. A worker renews it three times before it runs out. */
    readonly leaseMs: number

    /** Takes up to `limit` due jobs of a kind for a worker, oldest first. */
    readonly claim: (
      kind: string,
      limit: number,
      worker: { readonly workerId: string; readonly bootId: string }
    ) => Effect.Effect<ReadonlyArray<Claim>>
    /** Prolongs the claim. False when the attempt is no longer the running one; `cancelRequested` says that the work should stop. */
    readonly renew: (claim: Claim) => Effect.Effect<{ readonly held: boolean; readonly cancelRequested: boolean }>
    /**
     * True while the attempt is the running one and its claim has not run out. No other worker can take the job until the commit is through. A
     * worker that was stopped beyond its claim gets false, even when nobody has taken over its job.
     */
    readonly fence: (claim: Claim) => Effect.Effect<boolean, never, Commit>
    /**
     * Makes a boot the only one that may end an attempt whose worker is lost, for the lifetime of a claim. The lost worker, should it still
     * live, can write nothing more. Undefined when another boot has ended the attempt or taken it over, or when a silent worker has renewed its
     * claim.
     */
    readonly takeOver: (claim: Claim, loss: Loss, bootId: string) => Effect.Effect<Claim | undefined>
    /** `fence` for an attempt that was taken over. It holds also when the claim has run out. */
    readonly seize: (claim: Claim) => Effect.Effect<boolean, never, Commit>
    /**
     * Ends the attempt and moves its job, which may have `maxAttempts` of the claim from then on. Its error says in words when the next
     * attempt is due. Call it after `fence` or `seize` in the same commit: an attempt that has ended already is left as it is.
     */
    readonly finish: (claim: Claim, outcome: Outcome) => Effect.Effect<void, never, Commit>
    /**
     * Running jobs whose worker is lost, because its claim ran out or its process has ended. The processes of the `ended` boots have
     * ended, and when this process is `alone`, those of every other boot.
     */
    readonly listLost: (boots: {
      readonly bootId: string
      readonly alone: boolean
      readonly ended: ReadonlyArray<string>
    }) => Effect.Effect<ReadonlyArray<{ readonly claim: Claim; readonly loss: Loss }>>
    /** Makes jobs due that wait only because the clock was ahead when they were written. */
    readonly catchUp: Effect.Effect<void>
    /** The time at which the first waiting job of each kind is due. A kind is absent when none waits. */
    readonly waiting: (kinds: ReadonlyArray<string>) => Effect.Effect<ReadonlyMap<string, Timestamp>>
    /** The end of the claim, and a request to stop the work. Undefined when the attempt is no longer the running one. */
    readonly look: (
      claim: Claim
    ) => Effect.Effect<{ readonly endsAt: Timestamp; readonly cancelRequested: boolean } | undefined>
    /** The sessions whose due work no node has, or a node that is given up. Always none on one machine. */
    readonly unplaced: Effect.Effect<ReadonlyArray<SessionId>>
    /** True when every claim of a boot has run out. */
    readonly isSilent: (bootId: string) => Effect.Effect<boolean>
  }
>() {
  static readonly layer = Layer.effect(
    JobClaims,
    Effect.gen(function* () {
      const { leaseMs } = yield* CoreConfig
      const db = yield* Database
      const journal = yield* Journal
      const placements = yield* Placements
      const { self } = yield* Nodes
      const statements = JobStatements.make(db, self)
      const store: Store = { db, statements, leaseMs, journal, observer: yield* Observer, self }

      const { after, at } = db.clock

      return JobClaims.of({
        leaseMs,
        claim: claimOf(store),
        renew: renewOf(store),
        fence: ({ attempt, bootId, filesOf, jobId }) =>
          Effect.gen(function* () {
            const held = yield* db.first(statements.hold(jobId, attempt, bootId, yield* after(0)))
            return held !== undefined && (filesOf === null || (yield* placements.holds(filesOf)))
          }),
        takeOver: takeOverOf(store),
        seize: ({ attempt, bootId, jobId }) =>
          Effect.map(db.first(statements.seize(jobId, attempt, bootId)), (row) => row !== undefined),
        finish: finishOf(store),
        listLost: listLostOf(store),
        catchUp: catchUp(store),
        waiting: (kinds) =>
          kinds.length === 0
            ? Effect.succeed(new Map())
            : Effect.map(
                db.all(statements.waiting(kinds)),
                (rows) =>
                  new Map(rows.flatMap(({ kind, run_at }) => (run_at === null ? [] : [[kind, run_at] as const])))
              ),
        look: ({ attempt, bootId, jobId }) =>
          Effect.map(
            db.first(statements.look(jobId, attempt, bootId)),
            (row) => row && { endsAt: row.lease_expires_at, cancelRequested: row.cancel_requested === 1 }
          ),
        unplaced:
          self === null
            ? Effect.succeed([])
            : Effect.flatMap(pinnedJobs, ({ unplacedIn }) => unplacedIn(db, placements)),
        isSilent: (bootId) =>
          Effect.flatMap(at(0), (now) =>
            Effect.map(
              db.first(db.sql`select id from jobs
              where state = 'running' and boot_id = ${bootId} and lease_expires_at > ${now} limit 1`),
              (living) => living === undefined
            )
          )
      })
    })
  )
}

interface Store {
  readonly db: Database["Type"]
  readonly statements: ReturnType<typeof JobStatements.make>
  readonly leaseMs: number
  readonly journal: Journal["Type"]
  readonly observer: Observations
  /** The name of this node; null on one machine. */
  readonly self: string | null
}

type Claims = JobClaims["Type"]

/** One machine loads nothing of it. */
const pinnedJobs = Effect.promise(() => import("./PinnedJobs.js"))

const claimOf = ({ db, leaseMs, statements }: Store): Claims["claim"] =>
  fn("JobClaims.claim")(function* (kind, limit, worker) {
    const { after } = db.clock
    const at = yield* now
    const begin = Effect.fnUntraced(function* (job: JobRow.JobRow) {
      const attemptId = yield* newId(AttemptId)
      yield* db.run(
        statements.insertAttempt({
          id: attemptId,
          job_id: job.id,
          ordinal: job.attempt_count,
          state: "running",
          worker_id: worker.workerId,
          boot_id: worker.bootId,
          started_at: at,
          heartbeat_at: at
        })
      )
      return JobRow.toClaim(job, attemptId, worker)
    })
    return yield* db.transaction(
      Effect.gen(function* () {
        const { bootId, workerId } = worker
        const times = { now: yield* after(0), end: yield* after(leaseMs) }
        const rows = yield* db.all(statements.claim({ kind, limit, ...times, bootId, workerId }))
        // PostgreSQL does not promise an order of returned rows.
        const oldestFirst = [...rows].sort((a, b) => (a.id < b.id ? -1 : 1))
        return yield* Effect.forEach(oldestFirst, begin)
      })
    )
  })

const renewOf = ({ db, leaseMs }: Store): Claims["renew"] =>
  fn("JobClaims.renew")(function* (claim) {
    const { clock, sql } = db
    const at = yield* now
    return yield* db.transaction(
      Effect.gen(function* () {
        const job = yield* db.first(sql<{ cancel_requested: number }>`update jobs
          set lease_expires_at = ${yield* clock.at(leaseMs)} where ${JobStatements.runs(sql, claim)}
          and lease_expires_at > ${yield* clock.at(0)} returning cancel_requested`)
        if (job === undefined) return { held: false, cancelRequested: false }
        yield* db.run(sql`update attempts set heartbeat_at = ${at} where id = ${claim.attemptId}`)
        return { held: true, cancelRequested: job.cancel_requested === 1 }
      })
    )
  })

const takeOverOf = ({ db, leaseMs }: Store): Claims["takeOver"] =>
  fn("JobClaims.takeOver")(function* (claim, loss, bootId) {
    const { clock, sql } = db
    const isLost = loss === "silent" ? sql`lease_expires_at <= ${yield* clock.at(0)}` : sql`1 = 1`
    const row = yield* db.first(sql<{ id: string }>`update jobs
      set boot_id = ${bootId}, lease_expires_at = ${yield* clock.at(leaseMs)} where ${JobStatements.runs(sql, claim)} and ${isLost} returning id`)
    return row === undefined ? undefined : { ...claim, bootId }
  })

const finishOf = ({ db, journal, observer, statements }: Store): Claims["finish"] =>
  fn("JobClaims.finish")(function* (claim, outcome) {
    const attemptState = attemptStateOf(outcome)
    yield* Effect.orDie(jobStates.check("running", outcome.state))
    yield* Effect.orDie(attemptStates.check("running", attemptState))
    yield* journal.ringAfterCommit(jobsTopic)
    const at = yield* now
    const runAt = outcome.state === "retry_wait" && outcome.delayMs > 0 ? yield* fromNow(outcome.delayMs) : at
    const failure = failureOf(claim, outcome, at, runAt)
    const error = failure === undefined ? null : JSON.stringify(failure)
    yield* db.run(
      statements.finish({
        id: claim.jobId,
        state: outcome.state,
        runAt,
        error,
        maxAttempts: claim.maxAttempts,
        finishedAt: jobStates.isTerminal(outcome.state) ? at : null
      })
    )
    yield* db.run(statements.finishAttempt(attemptState, at, error, claim.attemptId))
    const { attempt, jobId, kind, subject } = claim
    const end = { jobId, kind, subject, attempt, state: outcome.state, error: failure ?? null }
    yield* journal.afterCommit(observer.jobEnded(end))
  })

/** One machine ends every lost attempt, and nobody's lease can lapse. */
const ofOneMachine = (sql: Database["Type"]["sql"]) => ({ mayEnd: sql``, ofLapsed: sql`1 = 0` })

const listLostOf = ({ db, self }: Store): Claims["listLost"] =>
  fn("JobClaims.listLost")(function* ({ alone, bootId, ended }) {
    const { clock, sql } = db
    const at = yield* clock.at(0)
    const ofEnded = ended.length > 0 ? sql.in("jobs.boot_id", ended) : sql`1 = 0`
    const { mayEnd, ofLapsed } = self === null ? ofOneMachine(sql) : (yield* pinnedJobs).lostWorkBounds(sql, self)
    const gone = alone ? sql`jobs.boot_id <> ${bootId}` : sql`(${ofEnded} or ${ofLapsed})`
    const rows = yield* db.all(sql<
      JobRow.JobRow & { attempt_id: AttemptId; worker_id: string; boot_id: string; is_gone: number }
    >`select jobs.*, attempts.id as attempt_id, case when ${gone} then 1 else 0 end as is_gone from jobs
    join attempts on attempts.job_id = jobs.id and attempts.ordinal = jobs.attempt_count
    where jobs.state = 'running' and (jobs.lease_expires_at <= ${at} or ${gone})${mayEnd}
    order by jobs.id`)
    return rows.map((row) => ({
      claim: JobRow.toClaim(row, row.attempt_id, { workerId: row.worker_id, bootId: row.boot_id }),
      loss: row.is_gone === 1 ? ("ended" as const) : ("silent" as const)
    }))
  })

const catchUp = ({ db }: Store): Claims["catchUp"] =>
  Effect.gen(function* () {
    const { clock, sql } = db
    const isWaiting = JobStatements.isJobWaiting(sql)
    const at = yield* clock.at(0)
    const latest = yield* clock.at(maxBackOffMs)
    const rows = yield* db.all(sql<{ id: string }>`select id from jobs where ${isWaiting}
      and run_at > ${at} and (run_at = created_at or (state = 'retry_wait' and run_at > ${latest}))`)
    if (rows.length === 0) return
    const ids = rows.map(({ id }) => id)
    yield* db.run(sql`update jobs set run_at = ${at} where ${isWaiting} and ${sql.in("id", ids)}`)
  })

/** The attempt of a cancelled job has failed, because it did not do its work. */
const attemptStateOf = (outcome: Outcome) =>
  "attempt" in outcome ? outcome.attempt : outcome.state === "cancelled" ? "failed" : "succeeded"

/** The reason that an attempt did not succeed. Its message also says what becomes of the job. */
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
