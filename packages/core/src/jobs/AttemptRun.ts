import { type AgentTracing, placeIn } from "@reins/base/base/AgentTraces"
import { failpoint } from "@reins/base/base/Failpoint"
import { toMillis } from "@reins/base/domain/Timestamp"
import { Cause, Clock, Deferred, Effect } from "effect"
import { NotOwner, NotRestored } from "../placement/Placements.js"
import { type Bell, jobTopic } from "../store/Bell.js"
import { patient } from "../store/BusyDatabase.js"
import { storageFaultOf, workFaultOf } from "../store/StorageFault.js"
import { completeAttempt, type Ending, failAttempt, fenced, lose, loseToStorage } from "./AttemptEnds.js"
import { tellOf } from "./AttemptLog.js"
import type { Claim } from "./Claim.js"
import type { JobFailure } from "./Job.js"
import type { JobClaims } from "./JobClaims.js"
import { AttemptLost, JobError, type JobKind, type RunningAttempt } from "./JobKind.js"

/** The services of a worker that runs attempts. */
export interface Running extends Ending {
  readonly bell: Bell["Type"]
  /** Undefined where no traces of agents are made. */
  readonly traces: AgentTracing | undefined
}

/**
 * Runs an attempt to its end and writes the end. An attempt that loses its claim stops and writes nothing. An attempt that is interrupted is
 * given up in order, so that no later boot has to find it lost.
 */
export const runAttempt = Effect.fnUntraced(function* (running: Running, kind: JobKind, claim: Claim) {
  const cancel = yield* Deferred.make<void>()
  const rung = yield* Effect.makeLatch(false)
  const stopListening = running.bell.listen(jobTopic(claim.jobId), () => rung.unsafeOpen())
  yield* Effect.raceFirst(patient(work(running, kind, claim, cancel)), watch(running.claims, claim, cancel, rung)).pipe(
    Effect.catchTag("JobError", ({ attempt = "failed", code, message, pauseMs, retryable }) =>
      failAttempt(running, kind, claim, { failure: { code, message, retryable }, attempt, ...(pauseMs && { pauseMs }) })
    ),
    Effect.catchAllDefect((defect) => endUnforeseen(running, kind, claim, defect)),
    Effect.catchTag("AttemptLost", () =>
      Effect.logWarning("an attempt has lost its claim and stops", { job_id: claim.jobId, attempt: claim.attempt })
    ),
    Effect.onInterrupt(() => lose(running, claim, "ended")),
    Effect.ensuring(Effect.sync(stopListening))
  )
})

/** Does the work of the attempt within the deadline of its kind, and commits its end. */
const work = (running: Running, kind: JobKind, claim: Claim, cancel: Deferred.Deferred<void>) => {
  const attempt: RunningAttempt = {
    claim,
    cancelRequested: Deferred.await(cancel),
    commit: (command) => fenced(running, claim, command)
  }
  const done = Effect.zipRight(failpoint("job.claimed"), kind.run(attempt)).pipe(
    Effect.timeoutFail({ duration: kind.deadlineMs, onTimeout: () => timedOut(kind) }),
    Effect.flatMap((completion) => completeAttempt(running, claim, completion)),
    Effect.zipLeft(failpoint("job.finished"))
  )
  const { traces } = running
  return traces === undefined ? done : traces.attempt({ ...claim, within: placeIn(claim.payload) }, done)
}

/**
 * Keeps the claim of an attempt alive and passes a request to stop on, until the claim is lost. It is no loop of `store/Loop.ts`, because a claim
 * ends at its time, whatever has failed.
 */
const watch = Effect.fnUntraced(function* (
  claims: JobClaims["Type"],
  claim: Claim,
  cancel: Deferred.Deferred<void>,
  rung: Effect.Latch
) {
  // The job may have been asked to stop, or may have waited long, between its claim and this listener.
  const found = yield* claims.look(claim)
  if (found === undefined) return yield* new AttemptLost({ jobId: claim.jobId })
  if (found.cancelRequested) yield* Deferred.succeed(cancel, undefined)
  const renewMs = renewMsOf(claims)
  const endsInMs = toMillis(found.endsAt) - (yield* Clock.currentTimeMillis)
  let waitMs = Math.max(0, endsInMs - (claims.leaseMs - renewMs))
  while (true) {
    // A cancellation rings, and the claim is renewed at once.
    yield* Effect.timeoutOption(rung.await, waitMs)
    yield* rung.close
    yield* heartbeat(claims, claim, cancel)
    waitMs = renewMs
  }
})

/** Renews the claim once. The attempt is lost when the renewal takes until the claim has run out. */
const heartbeat = Effect.fnUntraced(function* (
  claims: JobClaims["Type"],
  claim: Claim,
  cancel: Deferred.Deferred<void>
) {
  const lost = new AttemptLost({ jobId: claim.jobId })
  const { held, cancelRequested } = yield* Effect.timeoutFail(renew(claims, claim), {
    duration: claims.leaseMs - renewMsOf(claims),
    onTimeout: () => lost
  })
  if (cancelRequested) yield* Deferred.succeed(cancel, undefined)
  if (!held) return yield* lost
})

/** Renews a claim. While the database is away it tries again until the claim has run out. A full disk ends the attempt. */
const renew = (claims: JobClaims["Type"], claim: Claim): ReturnType<typeof claims.renew> =>
  Effect.catchAllDefect(claims.renew(claim), (defect) =>
    storageFaultOf(Cause.die(defect)) === undefined
      ? Effect.zipRight(
          tellOf("a claim could not be renewed, which is tried again", claim)(defect),
          Effect.delay(renew(claims, claim), renewAgainMs)
        )
      : Effect.die(defect)
  )

/** A claim is renewed three times before it runs out. */
const renewMsOf = ({ leaseMs }: JobClaims["Type"]): number => leaseMs / 3

/** Milliseconds between two tries to renew a claim. */
const renewAgainMs = 1_000

/** Ends an attempt whose work died. A full disk and a busy database are no fault of the work, so the attempt then counts as lost. */
const endUnforeseen = (running: Running, kind: JobKind, claim: Claim, defect: unknown) => {
  // The session has another node by now, where the job goes on.
  if (defect instanceof NotOwner) return lose(running, claim, "ended")
  if (defect instanceof NotRestored)
    return failAttempt(running, kind, claim, { failure: failureOf(defect), attempt: "failed" })
  const fault = workFaultOf(defect)
  const end =
    fault === undefined
      ? failAttempt(running, kind, claim, { failure: unforeseen, attempt: "failed" })
      : loseToStorage(running, claim, fault)
  return Effect.zipRight(tellOf("a job failed in an unforeseen way", claim)(defect), end)
}

const failureOf = ({ message, retryable }: NotRestored): JobFailure => ({
  code: "executor_unavailable",
  message: `The files of the session could not be restored here. ${message}`,
  retryable
})

const timedOut = ({ deadlineMs, kind }: JobKind) =>
  new JobError({
    code: "timeout",
    message: `It was ended after ${deadlineMs / 1000} seconds, the longest that an attempt of ${kind} may take.`,
    retryable: false
  })

const unforeseen: JobFailure = {
  code: "internal_error",
  message: "It failed in a way that was not foreseen; the log of the server says more.",
  retryable: true
}
