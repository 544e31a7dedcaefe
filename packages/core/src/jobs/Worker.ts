import { Cause, Clock, Deferred, Effect, FiberSet, Layer, Random } from "effect"
import type { JobFailure } from "../domain/Job.js"
import { toMillis } from "../domain/Timestamp.js"
import { Placement } from "../placement/Placement.js"
import { Bell, jobsTopic, jobTopic } from "../store/Bell.js"
import { Journal } from "../store/Journal.js"
import { describeFault, type StorageFault, storageFaultOf } from "../store/StorageFault.js"
import { AttemptLost, type Completion, JobError, type JobKind, type RunningAttempt } from "./JobKind.js"
import { type Claim, Jobs, leaseMs, type Outcome } from "./Jobs.js"

/** How often the worker looks for work, lost attempts and expired claims without having been rung. */
const pollMs = 5_000

/** Runs the jobs of the given kinds until the layer ends, which interrupts what runs; the next boot finds those attempts lost. */
export const layer = <E, R>(kinds: Effect.Effect<ReadonlyArray<JobKind>, E, R>) =>
  Layer.scopedDiscard(
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const bell = yield* Bell
      const placement = yield* Placement
      const byName = new Map((yield* kinds).map((kind) => [kind.kind, kind]))
      const attempts = yield* makeAttempts(byName)
      const worker = { workerId: `${placement.nodeId}/${process.pid}`, bootId: placement.bootId }
      // Attempts run in fibers of the layer: one that was forked inside a commit would inherit its transaction.
      const running = yield* FiberSet.make<void>()
      const fork = yield* FiberSet.runtime(running)()
      const load = new Map<string, number>()
      /** What this process has not let go of, however late its heartbeats are. */
      const held = new Set<string>()

      const start = (kind: JobKind, claim: Claim) => {
        held.add(claim.attemptId)
        load.set(kind.kind, (load.get(kind.kind) ?? 0) + 1)
        fork(
          Effect.ensuring(
            attempts.run(kind, claim),
            Effect.suspend(() => {
              held.delete(claim.attemptId)
              load.set(kind.kind, (load.get(kind.kind) ?? 1) - 1)
              return bell.ring(jobsTopic)
            })
          )
        )
      }
      const free = (kind: JobKind) => kind.concurrency - (load.get(kind.kind) ?? 0)
      const kindsWithRoom = () => [...byName.values()].filter((kind) => free(kind) > 0)
      const claimDue = Effect.suspend(() =>
        Effect.forEach(
          kindsWithRoom(),
          (kind) =>
            Effect.flatMap(jobs.claim(kind.kind, free(kind), worker), (claims) =>
              Effect.sync(() => {
                for (const claim of claims) start(kind, claim)
              })
            ),
          { discard: true }
        )
      )
      const recover = Effect.flatMap(jobs.listLost(placement.bootId, placement.alone), (claims) =>
        Effect.forEach(
          claims.filter((claim) => !held.has(claim.attemptId)),
          (claim) => attempts.lose(claim, workerLost),
          { discard: true }
        )
      )
      const untilDue = Effect.gen(function* () {
        // A kind that is full is looked at again when one of its jobs ends, which rings.
        const due = yield* jobs.nextDue(kindsWithRoom().map((kind) => kind.kind))
        const at = yield* Clock.currentTimeMillis
        return due === undefined ? pollMs : Math.min(pollMs, Math.max(0, toMillis(due) - at))
      })

      const latch = yield* Effect.makeLatch(true)
      const stopListening = bell.listen(jobsTopic, () => latch.unsafeOpen())
      yield* Effect.addFinalizer(() => Effect.sync(stopListening))
      // What a dead boot left is ended before anything new starts.
      yield* recover
      yield* Effect.gen(function* () {
        yield* latch.close
        yield* recover
        yield* claimDue
        yield* Effect.timeoutOption(latch.await, yield* untilDue)
      }).pipe(
        Effect.catchAllDefect((defect) =>
          Effect.zipRight(tell("the job worker failed and goes on", defect), Effect.sleep(pollMs))
        ),
        Effect.forever,
        Effect.forkScoped
      )
    })
  )

const makeAttempts = Effect.fnUntraced(function* (kinds: ReadonlyMap<string, JobKind>) {
  const jobs = yield* Jobs
  const journal = yield* Journal
  const bell = yield* Bell

  const fenced = <A, E>(claim: Claim, command: Effect.Effect<A, E>) =>
    journal.commit(
      Effect.flatMap(
        jobs.fence(claim),
        (held): Effect.Effect<A, E | AttemptLost> =>
          held ? command : Effect.fail(new AttemptLost({ jobId: claim.jobId }))
      )
    )

  /** Ends an attempt that did not succeed: another one later if it may be retried and one is left, else the job has failed. */
  const fail = Effect.fnUntraced(function* (
    kind: JobKind,
    claim: Claim,
    failure: JobFailure,
    attempt: "failed" | "abandoned" | "unknown"
  ) {
    const delayMs = yield* backOff(claim.attempt)
    const retry = failure.retryable && claim.attempt < claim.maxAttempts
    const outcome: Outcome = retry
      ? { state: "retry_wait", error: failure, attempt, delayMs }
      : { state: "failed", error: failure, attempt }
    yield* jobs.finish(claim, outcome)
    if (!retry) yield* kind.failed(claim, failure)
  })

  const heartbeat = (claim: Claim, cancel: Deferred.Deferred<void>) =>
    Effect.gen(function* () {
      const { held, cancelRequested } = yield* jobs.renew(claim)
      if (cancelRequested) yield* Deferred.succeed(cancel, undefined)
      if (!held) return yield* new AttemptLost({ jobId: claim.jobId })
    })

  const lose = Effect.fnUntraced(function* (claim: Claim, why: Omit<JobFailure, "retryable">) {
    const kind = kinds.get(claim.kind)
    if (kind === undefined) return
    const { command, next } = yield* kind.lost(claim, why)
    const failure = { ...why, retryable: next === "retry" }
    yield* fenced(claim, Effect.zipRight(command, fail(kind, claim, failure, "abandoned"))).pipe(
      Effect.catchTag("AttemptLost", () => Effect.void)
    )
  })

  /** Ends an attempt whose work could not be kept, as soon as that can be. */
  const loseToStorage = (claim: Claim, fault: StorageFault): Effect.Effect<void> =>
    Effect.catchAllDefect(lose(claim, storageLost(fault)), (defect) => {
      const still = storageFaultOf(Cause.die(defect))
      return still === undefined
        ? Effect.die(defect)
        : Effect.zipRight(Effect.sleep(storageMs), loseToStorage(claim, still))
    })

  const run = Effect.fnUntraced(function* (kind: JobKind, claim: Claim) {
    const cancel = yield* Deferred.make<void>()
    const rung = yield* Effect.makeLatch(false)
    const stopListening = bell.listen(jobTopic(claim.jobId), () => rung.unsafeOpen())
    // Renewed three times in a lease, and at once when a cancellation rings.
    const watch = Effect.forever(
      Effect.gen(function* () {
        yield* rung.close
        yield* heartbeat(claim, cancel)
        yield* Effect.timeoutOption(rung.await, leaseMs / 3)
      })
    )
    const attempt: RunningAttempt = {
      claim,
      cancelRequested: Deferred.await(cancel),
      commit: (command) => fenced(claim, command)
    }
    const work = kind.run(attempt).pipe(
      Effect.timeoutFail({
        duration: kind.deadlineMs,
        onTimeout: () =>
          new JobError({
            code: "timeout",
            message: `It took longer than ${kind.deadlineMs / 1000} seconds.`,
            retryable: false
          })
      }),
      Effect.flatMap((completion) =>
        fenced(claim, Effect.zipRight(jobs.finish(claim, outcomeOf(completion)), completion.command))
      )
    )
    yield* Effect.raceFirst(work, watch).pipe(
      Effect.catchTag("JobError", (error) =>
        fenced(
          claim,
          fail(
            kind,
            claim,
            { code: error.code, message: error.message, retryable: error.retryable },
            error.attempt ?? "failed"
          )
        )
      ),
      Effect.catchAllDefect((defect) => {
        const fault = storageFaultOf(Cause.die(defect))
        const end =
          fault === undefined ? fenced(claim, fail(kind, claim, unforeseen, "failed")) : loseToStorage(claim, fault)
        return Effect.zipRight(
          Effect.annotateLogs(tell("a job failed in an unforeseen way", defect), {
            job_id: claim.jobId,
            kind: claim.kind
          }),
          end
        )
      }),
      Effect.catchTag("AttemptLost", () =>
        Effect.logWarning("an attempt was taken over and stops", { job_id: claim.jobId })
      ),
      // The service stops: the attempt is given up in order, rather than found lost by the next boot.
      Effect.onInterrupt(() => lose(claim, workerLost)),
      Effect.ensuring(Effect.sync(stopListening))
    )
  })

  return { run, lose }
})

const outcomeOf = (completion: Completion): Outcome =>
  completion.state === "failed"
    ? { state: "failed", error: completion.failure, attempt: "failed" }
    : { state: completion.state }

/** How long the end of an attempt waits before it is tried again to write it. */
const storageMs = 1000

/** A defect in the log: in a sentence where the disk is the reason, else whole. */
const tell = (what: string, defect: unknown): Effect.Effect<void> => {
  const fault = storageFaultOf(Cause.die(defect))
  return fault === undefined
    ? Effect.logError(what, defect)
    : Effect.logError(`${describeFault(fault)}: jobs wait until there is room again`)
}

const storageLost = (fault: StorageFault) => ({
  code: "storage_failed",
  message: `${describeFault(fault)}, so what it did could not be kept.`
})

const workerLost = { code: "worker_lost", message: "The process that worked on it ended before it was done." }

const unforeseen: JobFailure = {
  code: "internal_error",
  message: "It failed in a way that was not foreseen; the log of the server says more.",
  retryable: true
}

/** min(2^n, 300) seconds, 10 % more or less. */
const backOff = (attempt: number): Effect.Effect<number> =>
  Effect.map(Random.next, (share) => Math.round(Math.min(2 ** attempt, 300) * 1000 * (0.9 + share * 0.2)))
