import { field } from "@reins/base/domain/Field"
import { AttemptId, JobId, OperationId } from "@reins/base/domain/Ids"
import * as StateMachine from "@reins/base/domain/StateMachine"
import { Timestamp } from "@reins/base/domain/Timestamp"
import { Schema } from "effect"

export const JobState = Schema.Literal(
  "queued",
  "running",
  "retry_wait",
  "succeeded",
  "failed",
  "cancelled"
).annotations({ description: "`retry_wait`: the last attempt did not succeed, and another one follows at `run_at`." })
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

export const AttemptState = Schema.Literal("running", "succeeded", "failed", "abandoned", "unknown").annotations({
  description:
    "The worker of an `abandoned` attempt was lost. The outside effect of an `unknown` one may or may not have happened."
})
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

export const JobFailure = Schema.Struct({
  code: field(Schema.String, "The reason for programs."),
  message: field(Schema.String, "A sentence for people: what happened."),
  retryable: field(Schema.Boolean, "True when another attempt may succeed.")
}).annotations({ identifier: "JobFailure", description: "The reason that a job or an attempt did not succeed." })
export type JobFailure = typeof JobFailure.Type

export const Attempt = Schema.Struct({
  id: field(AttemptId, "The id of the attempt."),
  ordinal: field(Schema.Int, "The number of the attempt, counted from 1."),
  state: field(AttemptState, "How the attempt stands or ended."),
  worker_id: field(Schema.String, "The server that works or worked it."),
  started_at: field(Timestamp, "The time at which it began."),
  heartbeat_at: field(Timestamp, "The time of the last sign of life of its worker."),
  finished_at: field(Schema.NullOr(Timestamp), "The time of its end; null while it goes on."),
  error: field(Schema.NullOr(JobFailure), "Why it did not succeed; null otherwise.")
}).annotations({ identifier: "Attempt", description: "One try at a job." })
export type Attempt = typeof Attempt.Type

export const Subject = Schema.Struct({
  type: field(Schema.String, "The kind of the resource, as in `turn` or `delivery`."),
  id: field(Schema.String, "The id of the resource.")
}).annotations({ identifier: "Subject", description: "The resource that is worked on." })
export type Subject = typeof Subject.Type

export const Job = Schema.Struct({
  id: field(JobId, "The id of the job."),
  operation_id: field(OperationId, "The operation that it belongs to."),
  kind: field(Schema.String, "The kind of work."),
  state: field(JobState, "Where the job stands."),
  subject: field(Subject, "What is worked on."),
  attempt_count: field(Schema.Int, "The number of attempts that have begun."),
  max_attempts: field(
    Schema.Int,
    "The most attempts. One is added for an attempt whose worker was lost, up to 30 in all."
  ),
  run_at: field(Schema.NullOr(Timestamp), "The earliest time of the next attempt. Null once the job has ended."),
  error: field(Schema.NullOr(JobFailure), "Why the last attempt did not succeed; null otherwise."),
  attempts: field(Schema.Array(Attempt), "The attempts, the first one first."),
  created_at: field(Timestamp, "The time at which the job was queued."),
  finished_at: field(Schema.NullOr(Timestamp), "The time of its end; null while it goes on.")
}).annotations({ identifier: "Job", description: "Durable work and its attempts." })
export type Job = typeof Job.Type

export const Operation = Schema.Struct({
  id: field(OperationId, "The id of the operation."),
  kind: field(Schema.String, "The kind of work that was asked for."),
  state: field(JobState, "The state of its work as a whole."),
  subject: field(Subject, "What is worked on."),
  jobs: field(Schema.Array(Job), "The jobs, the first one first."),
  created_at: field(Timestamp, "The time of the request."),
  finished_at: field(Schema.NullOr(Timestamp), "The time at which the last job ended; null while one goes on.")
}).annotations({
  identifier: "Operation",
  description: "The jobs of one request together. It is put together from them when it is read."
})
export type Operation = typeof Operation.Type

export const OperationRef = Schema.Struct({
  id: field(OperationId, "The id of the operation."),
  job_id: field(JobId, "The id of the job that does the work."),
  state: field(JobState, "The state of the job when the answer was made.")
}).annotations({
  identifier: "OperationRef",
  description: "Answers a long-running mutation at once. Read the operation or the job by these ids to follow it."
})
export type OperationRef = typeof OperationRef.Type
