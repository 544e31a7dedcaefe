import { Cause, Clock, Deferred, Effect, FiberSet, Layer } from "effect"
import { failpoint } from "../base/Failpoint.js"
import type { JobFailure } from "../domain/Job.js"
import { type Timestamp, toMillis } from "../domain/Timestamp.js"
import { Placement } from "../placement/Placement.js"
import { Bell, jobsTopic, jobTopic } from "../store/Bell.js"
import type { Commit } from "../store/Commit.js"
import { logDefect } from "../store/FailedStatement.js"
import { Journal } from "../store/Journal.js"
import { describeFault, type StorageFault, storageFaultOf } from "../store/StorageFault.js"
import { AttemptLost, type Completion, JobError, type JobKind, type RunningAttempt } from "./JobKind.js"
import { backOff, type Claim, Jobs, type Loss, type Outcome } from "./Jobs.js"

/** Work that ends its own worker again and again is given up after so many attempts. */
const mostAttempts = 30

/** So many attempts may lose their workers before the next one waits: work that ends its worker must not keep it from all other work. */
const promptAttempts = 5

/** How long to wait after an attempt whose worker was lost: up to a minute or so, as work may be lost often through no fault of its own. */
const delayOfLost = (attempt: number): Effect.Effect<number> =>
  attempt <= promptAttempts ? Effect.succeed(0) : backOff(Math.min(attempt - promptAttempts, 6))

/** How long it takes until it is tried again to renew a claim. */
const renewAgainMs = 1_000

/** How often the worker looks for work, lost attempts and expired claims without having been rung. */
const pollMs = 5_000

/**
 * Runs the jobs of the given kinds until the layer ends, which gives up what runs. What boots that have ended left running is ended
 * by `clearAfter` before any of their jobs goes on.
 */
export const layer = <E, R>(
  kinds: Effect.Effect<ReadonlyArray<JobKind>, E, R>,
  clearAfter: (bootIds: ReadonlyArray<string>) => Effect.Effect<void> = () => Effect.void
) =>
  Layer.scopedDiscard(
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const bell = yield* Bell
      const placement = yield* Placement
      const byName = new Map((yield* kinds).map((kind) => [kind.kind, kind]))
      const worker = { workerId: `${placement.nodeId}/${process.pid}`, bootId: placement.bootId }
      const attempts = yield* makeAttempts(byName, worker)
      // Attempts run in fibers of the layer: one that was forked inside a commit would inherit its transaction.
      const running = yield* FiberSet.make<void>()
      const fork = yield* FiberSet.runtime(running)()
      /** What this process works on, by attempt. */
      const load = new Map<string, JobKind>()

      const start = (kind: JobKind, claim: Claim) => {
        load.set(claim.attemptId, kind)
        fork(
          attempts.run(kind, claim).pipe(
            // The claim then runs out, and the attempt is found lost.
            Effect.onError((cause) => unlessInterrupted(cause, tellOf("the end of an attempt was not written", claim))),
            Effect.ensuring(
              Effect.suspend(() => {
                load.delete(claim.attemptId)
                return bell.ring(jobsTopic)
              })
            )
          )
        )
      }
      const free = (kind: JobKind) => kind.concurrency - [...load.values()].filter((each) => each === kind).length
      const kindsWithRoom = () => [...byName.values()].filter((kind) => free(kind) > 0)
      /** Starts what is due, and says whether there was something. What is claimed is started, also when the service stops in between. */
      const claim = (kind: JobKind) =>
        Effect.uninterruptible(
          Effect.map(jobs.claim(kind.kind, free(kind), worker), (claims) => {
            for (const claim of claims) start(kind, claim)
            return claims.length > 0
          })
        )
      // An attempt of this process that has lost its claim stops first; its end rings, and it is given up then. One that cannot be
      // given up now holds up nothing else, and is looked at again when it has been silent for as long as any other.
      const giveUp = (claim: Claim, loss: Loss) =>
        load.has(claim.attemptId)
          ? bell.ring(jobTopic(claim.jobId))
          : Effect.catchAllDefect(attempts.lose(claim, loss), tellOf("a lost attempt could not be given up", claim))
      const recover = Effect.gen(function* () {
        const ended = yield* placement.ended
        if (ended.length > 0) yield* clearAfter(ended)
        const lost = yield* jobs.listLost({ ...placement, ended })
        yield* Effect.forEach(lost, ({ claim, loss }) => giveUp(claim, loss), { discard: true })
        yield* Effect.forEach(ended, placement.forget, { discard: true })
      })
      /** Claims what is due. Gives back how long to wait when nothing was. */
      const claimDue = Effect.gen(function* () {
        // A kind that is full is looked at again when one of its jobs ends, which rings.
        const kinds = kindsWithRoom()
        const waiting = yield* jobs.waiting(kinds.map((kind) => kind.kind))
        const at = yield* Clock.currentTimeMillis
        const left = kinds.map((kind) => ({ kind, ms: millisUntil(waiting.get(kind.kind), at) }))
        const claimed = yield* Effect.forEach(
          left.filter(({ ms }) => ms <= 0),
          ({ kind }) => claim(kind)
        )
        if (claimed.some((some) => some)) return 0
        return Math.min(pollMs, ...left.map(({ ms }) => ms).filter((ms) => ms > 0))
      })

      const latch = yield* Effect.makeLatch(true)
      const stopListening = bell.listen(jobsTopic, () => latch.unsafeOpen())
      yield* Effect.addFinalizer(() => Effect.sync(stopListening))
      // What a dead boot left is ended before anything new starts.
      yield* recover
      yield* Effect.gen(function* () {
        yield* latch.close
        yield* recover
        yield* jobs.catchUp
        const waitMs = yield* claimDue
        // What was claimed may have left more of its kind, which is due at once.
        if (waitMs > 0) yield* Effect.timeoutOption(latch.await, waitMs)
      }).pipe(
        Effect.catchAllDefect((defect) =>
          Effect.zipRight(tell("the job worker failed and goes on", defect), Effect.sleep(pollMs))
        ),
        Effect.forever,
        Effect.forkScoped
      )
    })
  )

const makeAttempts = Effect.fnUntraced(function* (
  kinds: ReadonlyMap<string, JobKind>,
  self: Pick<Claim, "workerId" | "bootId">
) {
  const jobs = yield* Jobs
  const journal = yield* Journal
  const bell = yield* Bell
  const { leaseMs } = jobs
  /** A claim is renewed three times before it runs out. */
  const renewMs = leaseMs / 3

  const holding = <A, E>(
    hold: Effect.Effect<boolean, never, Commit>,
    claim: Claim,
    command: Effect.Effect<A, E, Commit>
  ) =>
    journal.commit(
      Effect.flatMap(
        hold,
        (held): Effect.Effect<A, E | AttemptLost, Commit> =>
          held ? command : Effect.fail(new AttemptLost({ jobId: claim.jobId }))
      )
    )
  const fenced = <A, E>(claim: Claim, command: Effect.Effect<A, E, Commit>) =>
    holding(jobs.fence(claim), claim, command)

  /** Ends an attempt that did not succeed: another one after the delay if it may be retried and one is left, else the job has failed. */
  const fail = Effect.fnUntraced(function* (
    kind: JobKind,
    claim: Claim,
    failure: JobFailure,
    attempt: "failed" | "abandoned" | "unknown",
    delayMs: number
  ) {
    const retry = failure.retryable && claim.attempt < claim.maxAttempts
    const outcome: Outcome = retry
      ? { state: "retry_wait", error: failure, attempt, delayMs }
      : { state: "failed", error: failure, attempt }
    yield* jobs.finish(claim, outcome)
    if (!retry) yield* kind.failed(claim, failure)
  })
  const failed = (kind: JobKind, claim: Claim, failure: JobFailure, attempt: "failed" | "unknown") =>
    Effect.flatMap(backOff(claim.attempt), (delayMs) => fenced(claim, fail(kind, claim, failure, attempt, delayMs)))

  /** Renews a claim, again and again while the database is away: the claim is good until it has run out. A full disk ends the attempt. */
  const renew = (claim: Claim): ReturnType<typeof jobs.renew> =>
    Effect.catchAllDefect(jobs.renew(claim), (defect) =>
      storageFaultOf(Cause.die(defect)) === undefined
        ? Effect.zipRight(
            tellOf("a claim could not be renewed, which is tried again", claim)(defect),
            Effect.delay(renew(claim), renewAgainMs)
          )
        : Effect.die(defect)
    )
  const heartbeat = (claim: Claim, cancel: Deferred.Deferred<void>) =>
    Effect.gen(function* () {
      const lost = new AttemptLost({ jobId: claim.jobId })
      const { held, cancelRequested } = yield* Effect.timeoutFail(renew(claim), {
        duration: leaseMs - renewMs,
        onTimeout: () => lost
      })
      if (cancelRequested) yield* Deferred.succeed(cancel, undefined)
      if (!held) return yield* lost
    })

  const lose = Effect.fnUntraced(function* (found: Claim, loss: Loss | StorageFault) {
    const kind = kinds.get(found.kind)
    if (kind === undefined) return
    const lost = isWorkerLoss(loss)
    // Before anything is cleaned up: another server may have found the same, and have begun the next attempt already.
    const claim = yield* jobs.takeOver(found, lost ? loss : "ended", self.bootId)
    if (claim === undefined) return
    const { command, next } = yield* kind.lost(claim, loss)
    const why = lost ? workerLost(claim.workerId, self.workerId, loss, leaseMs) : storageLost(loss)
    const failure = { ...why, retryable: next === "retry" }
    // A lost worker says nothing against the work, unless it is lost again and again: the lost attempt is made up for. A disk may be
    // full again at once.
    const isMadeUp = lost && next === "retry" && claim.maxAttempts < mostAttempts
    const maxAttempts = isMadeUp ? claim.maxAttempts + 1 : claim.maxAttempts
    const delayMs = yield* (lost ? delayOfLost : backOff)(claim.attempt)
    const end = Effect.zipRight(command, fail(kind, { ...claim, maxAttempts }, failure, "abandoned", delayMs))
    yield* holding(jobs.seize(claim), claim, end).pipe(Effect.catchTag("AttemptLost", () => Effect.void))
  })

  /** Ends an attempt whose work could not be kept, as soon as that can be. */
  const loseToStorage = (claim: Claim, fault: StorageFault): Effect.Effect<void> =>
    Effect.catchAllDefect(lose(claim, fault), (defect) => {
      const still = storageFaultOf(Cause.die(defect))
      return still === undefined
        ? Effect.die(defect)
        : Effect.zipRight(Effect.sleep(storageMs), loseToStorage(claim, still))
    })

  const run = Effect.fnUntraced(function* (kind: JobKind, claim: Claim) {
    const cancel = yield* Deferred.make<void>()
    const rung = yield* Effect.makeLatch(false)
    const stopListening = bell.listen(jobTopic(claim.jobId), () => rung.unsafeOpen())
    // It may have been asked to stop, or have waited for long, between its claim and the listening.
    const watch = Effect.gen(function* () {
      const found = yield* jobs.look(claim)
      if (found === undefined) return yield* new AttemptLost({ jobId: claim.jobId })
      if (found.cancelRequested) yield* Deferred.succeed(cancel, undefined)
      const endsInMs = toMillis(found.endsAt) - (yield* Clock.currentTimeMillis)
      let waitMs = Math.max(0, endsInMs - (leaseMs - renewMs))
      while (true) {
        // Also renewed at once when a cancellation rings.
        yield* Effect.timeoutOption(rung.await, waitMs)
        yield* rung.close
        yield* heartbeat(claim, cancel)
        waitMs = renewMs
      }
    })
    const attempt: RunningAttempt = {
      claim,
      cancelRequested: Deferred.await(cancel),
      commit: (command) => fenced(claim, command)
    }
    const work = Effect.zipRight(failpoint("job.claimed"), kind.run(attempt)).pipe(
      Effect.timeoutFail({
        duration: kind.deadlineMs,
        onTimeout: () =>
          new JobError({
            code: "timeout",
            message: `It was ended after ${kind.deadlineMs / 1000} seconds, the longest that an attempt of ${kind.kind} may take.`,
            retryable: false
          })
      }),
      Effect.flatMap((completion) =>
        fenced(claim, Effect.zipRight(jobs.finish(claim, outcomeOf(completion)), completion.command))
      ),
      Effect.zipLeft(failpoint("job.finished"))
    )
    yield* Effect.raceFirst(work, watch).pipe(
      Effect.catchTag("JobError", ({ attempt = "failed", code, message, retryable }) =>
        failed(kind, claim, { code, message, retryable }, attempt)
      ),
      Effect.catchAllDefect((defect) => {
        const fault = storageFaultOf(Cause.die(defect))
        const end = fault === undefined ? failed(kind, claim, unforeseen, "failed") : loseToStorage(claim, fault)
        return Effect.zipRight(tellOf("a job failed in an unforeseen way", claim)(defect), end)
      }),
      Effect.catchTag("AttemptLost", () =>
        Effect.logWarning("an attempt has lost its claim and stops", { job_id: claim.jobId, attempt: claim.attempt })
      ),
      // The service stops: the attempt is given up in order, rather than found lost by the next boot.
      Effect.onInterrupt(() => lose(claim, "ended")),
      Effect.ensuring(Effect.sync(stopListening))
    )
  })

  return { run, lose }
})

const millisUntil = (due: Timestamp | undefined, at: number): number =>
  due === undefined ? Number.POSITIVE_INFINITY : toMillis(due) - at

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
    ? logDefect(what, defect)
    : Effect.logError(`${describeFault(fault)}: jobs wait until there is room again`)
}

const tellOf =
  (what: string, { attempt, jobId, kind }: Claim) =>
  (defect: unknown): Effect.Effect<void> =>
    Effect.annotateLogs(tell(what, defect), { job_id: jobId, kind, attempt })

const unlessInterrupted = (cause: Cause.Cause<unknown>, tell: (defect: unknown) => Effect.Effect<void>) =>
  Cause.isInterruptedOnly(cause) ? Effect.void : tell(Cause.squash(cause))

const isWorkerLoss = (loss: Loss | StorageFault): loss is Loss => loss === "ended" || loss === "silent"

const storageLost = (fault: StorageFault) => ({
  code: "storage_failed",
  message: `${describeFault(fault)}, so what it did could not be kept.`
})

/** What happened to the worker of an attempt, and who found that. A worker that is stopped in order says it of itself. */
const workerLost = (lost: string, finder: string, loss: Loss, leaseMs: number) => ({
  code: "worker_lost",
  message:
    lost === finder && loss === "ended"
      ? `Its worker ${lost} was stopped before it was done.`
      : loss === "ended"
        ? `Its worker ${lost} ended before it was done; ${finder} took over.`
        : `Its worker ${lost} did not renew its claim for ${leaseMs / 1000} seconds; ${finder} took over, and nothing that the attempt still does counts.`
})

const unforeseen: JobFailure = {
  code: "internal_error",
  message: "It failed in a way that was not foreseen; the log of the server says more.",
  retryable: true
}
