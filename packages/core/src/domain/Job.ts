import { Schema } from "effect"
import { AttemptId, JobId, OperationId } from "./Ids.js"
import * as StateMachine from "./StateMachine.js"
import { Timestamp } from "./Timestamp.js"

export const JobState = Schema.Literal("queued", "running", "retry_wait", "succeeded", "failed", "cancelled")
export type JobState = typeof JobState.Type

/** The moves of a job. The jobs room writes no other. */
export const jobStates = StateMachine.make<JobState>("job", {
  queued: ["running", "cancelled"],
  running: ["succeeded", "failed", "cancelled", "retry_wait"],
  retry_wait: ["running", "cancelled"],
  succeeded: [],
  failed: [],
  cancelled: []
})

/** The states of a job that waits for its next attempt, which may begin once `run_at` has come. */
export const waitingJobStates: ReadonlyArray<JobState> = /* @__PURE__ */ jobStates.states.filter((state) =>
  jobStates.allows(state, "running")
)

/** The states of a job that has not ended. */
export const liveJobStates: ReadonlyArray<JobState> = /* @__PURE__ */ waitingJobStates.concat("running")

/** The worker of an `abandoned` attempt was lost. The outside effect of an `unknown` one may or may not have happened. */
export const AttemptState = Schema.Literal("running", "succeeded", "failed", "abandoned", "unknown")
export type AttemptState = typeof AttemptState.Type

/** The moves of an attempt. The jobs room writes no other. */
export const attemptStates = /* @__PURE__ */ StateMachine.make<AttemptState>("attempt", {
  running: ["succeeded", "failed", "abandoned", "unknown"],
  succeeded: [],
  failed: [],
  abandoned: [],
  unknown: []
})

/** The states of an attempt that has ended and may have changed something outside without anybody knowing. */
export const unprovenAttemptStates: ReadonlyArray<AttemptState> = ["abandoned", "unknown"]

/** The reason that a job or an attempt did not succeed. The message is for a person. */
export const JobFailure = Schema.Struct({
  code: Schema.String,
  message: Schema.String,
  retryable: Schema.Boolean
}).annotations({ identifier: "JobFailure" })
export type JobFailure = typeof JobFailure.Type

export const Attempt = Schema.Struct({
  id: AttemptId,
  ordinal: Schema.Int,
  state: AttemptState,
  worker_id: Schema.String,
  started_at: Timestamp,
  heartbeat_at: Timestamp,
  finished_at: Schema.NullOr(Timestamp),
  error: Schema.NullOr(JobFailure)
}).annotations({ identifier: "Attempt" })
export type Attempt = typeof Attempt.Type

export const Subject = Schema.Struct({ type: Schema.String, id: Schema.String }).annotations({ identifier: "Subject" })
export type Subject = typeof Subject.Type

export const Job = Schema.Struct({
  id: JobId,
  operation_id: OperationId,
  kind: Schema.String,
  state: JobState,
  subject: Subject,
  attempt_count: Schema.Int,
  /** One is added for an attempt whose worker was lost, up to 30 in all. */
  max_attempts: Schema.Int,
  /** The earliest time of the next attempt. Null once the job has ended. */
  run_at: Schema.NullOr(Timestamp),
  error: Schema.NullOr(JobFailure),
  attempts: Schema.Array(Attempt),
  created_at: Timestamp,
  finished_at: Schema.NullOr(Timestamp)
}).annotations({ identifier: "Job" })
export type Job = typeof Job.Type

/** The jobs of one request together. It is put together from them when it is read. */
export const Operation = Schema.Struct({
  id: OperationId,
  kind: Schema.String,
  state: JobState,
  subject: Subject,
  jobs: Schema.Array(Job),
  created_at: Timestamp,
  finished_at: Schema.NullOr(Timestamp)
}).annotations({ identifier: "Operation" })
export type Operation = typeof Operation.Type

/** Answers a long-running mutation at once. Read the operation or the job by these ids to follow it. */
export const OperationRef = Schema.Struct({ id: OperationId, job_id: JobId, state: JobState }).annotations({
  identifier: "OperationRef"
})
export type OperationRef = typeof OperationRef.Type
