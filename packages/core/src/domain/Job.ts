import { Schema } from "effect"
import { AttemptId, JobId, OperationId } from "./Ids.js"
import * as StateMachine from "./StateMachine.js"
import { Timestamp } from "./Timestamp.js"

export const JobState = Schema.Literal("queued", "running", "retry_wait", "succeeded", "failed", "cancelled")
export type JobState = typeof JobState.Type

export const jobStates = StateMachine.make<JobState>("job", {
  queued: ["running", "cancelled"],
  running: ["succeeded", "failed", "cancelled", "retry_wait"],
  retry_wait: ["queued", "cancelled"],
  succeeded: [],
  failed: [],
  cancelled: []
})

/** `abandoned`: its worker was lost. `unknown`: its outside effect may or may not have happened. */
export const AttemptState = Schema.Literal("running", "succeeded", "failed", "abandoned", "unknown")
export type AttemptState = typeof AttemptState.Type

export const attemptStates = StateMachine.make<AttemptState>("attempt", {
  running: ["succeeded", "failed", "abandoned", "unknown"],
  succeeded: [],
  failed: [],
  abandoned: [],
  unknown: []
})

/** The failure of an attempt: a closed code, and a message for a person. */
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
  /** Grows by one for an attempt whose worker was lost, up to 30. */
  max_attempts: Schema.Int,
  /** When the next attempt may start; null once the job has ended. */
  run_at: Schema.NullOr(Timestamp),
  error: Schema.NullOr(JobFailure),
  attempts: Schema.Array(Attempt),
  created_at: Timestamp,
  finished_at: Schema.NullOr(Timestamp)
}).annotations({ identifier: "Job" })
export type Job = typeof Job.Type

/** A view of the jobs of one request. Nothing but the jobs is stored. */
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

/** The immediate answer to a mutation that takes long. */
export const OperationRef = Schema.Struct({ id: OperationId, job_id: JobId, state: JobState }).annotations({
  identifier: "OperationRef"
})
export type OperationRef = typeof OperationRef.Type
