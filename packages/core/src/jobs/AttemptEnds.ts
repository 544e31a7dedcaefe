import { Effect } from "effect"
import type { Commit } from "../store/Commit.js"
import type { Journal } from "../store/Journal.js"
import { describeFault, type WorkFault, workFaultOf } from "../store/StorageFault.js"
import { type AttemptEnd, backOff, type Claim, type Loss, maxBackOffMs, type Outcome } from "./Claim.js"
import type { JobFailure } from "./Job.js"
import type { JobClaims } from "./JobClaims.js"
import { AttemptLost, type Completion, type JobError, type JobKind } from "./JobKind.js"

/** The worker that ends an attempt, and the services that it needs for that. */
export interface Ending {
  readonly claims: JobClaims["Type"]
  readonly journal: Journal["Type"]
  readonly kinds: ReadonlyMap<string, JobKind>
  readonly self: Pick<Claim, "workerId" | "bootId">
}

/** Commits a command if the attempt is the running one and its claim has not run out. */
export const fenced = <A, E>(ending: Ending, claim: Claim, command: Effect.Effect<A, E, Commit>) =>
  whileHeld(ending, claim, ending.claims.fence(claim), command)

const whileHeld = <A, E>(
  { journal }: Ending,
  claim: Claim,
  hold: Effect.Effect<boolean, never, Commit>,
  command: Effect.Effect<A, E, Commit>
) =>
  journal.commit(
    Effect.flatMap(
      hold,
      (held): Effect.Effect<A, E | AttemptLost, Commit> =>
        held ? command : Effect.fail(new AttemptLost({ jobId: claim.jobId }))
    )
  )

/** Ends an attempt with an end that its kind foresees. */
export const completeAttempt = (ending: Ending, claim: Claim, completion: Completion) =>
  fenced(ending, claim, Effect.zipRight(ending.claims.finish(claim, outcomeOf(completion)), completion.command))

const outcomeOf = (completion: Completion): Outcome =>
  completion.state === "failed"
    ? { state: "failed", error: completion.failure, attempt: "failed" }
    : { state: completion.state }

/** Ends an attempt that failed. The job is tried again after a back-off when the failure may be retried. */
export const failAttempt = (
  ending: Ending,
  kind: JobKind,
  claim: Claim,
  { pauseMs, ...end }: Omit<FailedEnd, "delayMs"> & Pick<JobError, "pauseMs">
) =>
  Effect.flatMap(backOff(claim.attempt), (backOffMs) => {
    const delayMs = Math.max(backOffMs, Math.min(maxBackOffMs, pauseMs?.(claim.attempt) ?? 0))
    return fenced(ending, claim, fail(ending, kind, claim, { ...end, delayMs }))
  })

interface FailedEnd {
  readonly failure: JobFailure
  readonly attempt: AttemptEnd
  /** Milliseconds until the next attempt, if there is one. */
  readonly delayMs: number
}

/** Moves the job to its next attempt if the failure may be retried and an attempt is left. Otherwise the job has failed. */
const fail = Effect.fnUntraced(function* (
  { claims }: Ending,
  kind: JobKind,
  claim: Claim,
  { attempt, delayMs, failure }: FailedEnd
) {
  const retry = failure.retryable && claim.attempt < claim.maxAttempts
  const outcome: Outcome = retry
    ? { state: "retry_wait", error: failure, attempt, delayMs }
    : { state: "failed", error: failure, attempt }
  yield* claims.finish(claim, outcome)
  if (!retry) yield* kind.failed(claim, failure)
})

/** Ends an attempt whose worker is lost, or whose work could not be written. It does nothing when another worker has ended it already. */
export const lose = Effect.fnUntraced(function* (ending: Ending, found: Claim, loss: Loss | WorkFault) {
  const { claims, kinds, self } = ending
  const kind = kinds.get(found.kind)
  if (kind === undefined) return
  const lost = isWorkerLoss(loss)
  // Taking over comes before any clean-up, because another server may have found the same loss and may have begun the next attempt.
  const claim = yield* claims.takeOver(found, lost ? loss : "ended", self.bootId)
  if (claim === undefined) return
  const { command, next } = yield* kind.lost(claim, loss)
  const why = lost ? workerLost(claim.workerId, self.workerId, loss, claims.leaseMs) : storageLost(loss)
  const failure = { ...why, retryable: next === "retry" }
  // A lost worker and a busy database say nothing against the work, so one more attempt is allowed, unless that happens again and again. A full
  // disk counts as an attempt, because the disk may be full again at once.
  const isMadeUp = (lost || loss === "database_busy") && next === "retry" && claim.maxAttempts < mostAttempts
  const maxAttempts = isMadeUp ? claim.maxAttempts + 1 : claim.maxAttempts
  const delayMs = yield* (lost ? delayOfLost : backOff)(claim.attempt)
  const failing = fail(ending, kind, { ...claim, maxAttempts }, { failure, attempt: "abandoned", delayMs })
  yield* whileHeld(ending, claim, claims.seize(claim), Effect.zipRight(command, failing)).pipe(
    Effect.catchTag("AttemptLost", () => Effect.void)
  )
})

/** Ends an attempt whose work could not be written, as soon as the end can be written. */
export const loseToStorage = (ending: Ending, claim: Claim, fault: WorkFault): Effect.Effect<void> =>
  Effect.catchAllDefect(lose(ending, claim, fault), (defect) => {
    const still = workFaultOf(defect)
    return still === undefined
      ? Effect.die(defect)
      : Effect.zipRight(Effect.sleep(storageMs), loseToStorage(ending, claim, still))
  })

/** Milliseconds between two tries to write the end of an attempt. */
const storageMs = 1000

/** The number of attempts that ended without its fault after which work is given up, because it may end its worker each time. */
const mostAttempts = 30

/**
 * The number of attempts that may lose their workers before the next one waits. Work that ends its worker must not keep the worker from all
 * other work.
 */
const promptAttempts = 5

/** Milliseconds to wait after an attempt whose worker was lost: a minute or so at most, because often the work is not at fault. */
const delayOfLost = (attempt: number): Effect.Effect<number> =>
  attempt <= promptAttempts ? Effect.succeed(0) : backOff(Math.min(attempt - promptAttempts, 6))

const isWorkerLoss = (loss: Loss | WorkFault): loss is Loss => loss === "ended" || loss === "silent"

const storageLost = (fault: WorkFault) => ({
  code: "storage_failed",
  message: `${describeFault(fault)}, so its result could not be stored.`
})

/** Says how the worker of an attempt was lost, and which worker noticed. A worker that is stopped in order notices by itself. */
const workerLost = (lost: string, finder: string, loss: Loss, leaseMs: number) => ({
  code: "worker_lost",
  message:
    lost === finder && loss === "ended"
      ? `Its worker ${lost} was stopped before it was done.`
      : loss === "ended"
        ? `Its worker ${lost} ended before it was done; ${finder} took over.`
        : `Its worker ${lost} did not renew its claim for ${leaseMs / 1000} seconds; ${finder} took over, and nothing that the attempt still does counts.`
})
