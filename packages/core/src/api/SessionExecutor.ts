import { Schema } from "effect"
import { ExecutorLimits } from "../domain/ExecutorLimits.js"
import { field } from "../domain/Field.js"
import { installed } from "../domain/Installed.js"
import { OperationRef } from "../domain/Job.js"
import { LeaseState, WorkspaceState } from "../domain/Session.js"
import { Timestamp } from "../domain/Timestamp.js"
import { optional } from "./Endpoint.js"

export const SessionExecutor = Schema.Struct({
  backend: field(Schema.String, "The executor backend."),
  limits: field(Schema.NullOr(ExecutorLimits), "The limits that the session asked for; null for those of the server."),
  lease: field(
    Schema.Struct({
      id: field(Schema.NullOr(Schema.String), "The id of the lease; null before the first."),
      state: field(LeaseState, "Where the lease stands."),
      created_at: field(Schema.NullOr(Timestamp), "The time at which it began; null before the first."),
      last_used_at: field(Schema.NullOr(Timestamp), "The time of its last use; null before the first.")
    }),
    "The newest lease."
  ),
  workspace: field(
    Schema.Struct({
      state: field(WorkspaceState, "The state of the files."),
      base_commit: field(
        Schema.NullOr(Schema.String),
        "The commit that they started from; null for an empty start and until they are made."
      )
    }),
    "The files of the session."
  )
}).annotations({
  identifier: "SessionExecutor",
  description: "The executor of a session, and the workspace that it works in."
})
export type SessionExecutor = typeof SessionExecutor.Type

export const ActivationInput = Schema.Struct({
  backend: field(optional(installed("executors")), "The executor backend of the session. Another one is refused.")
}).annotations({
  identifier: "ActivationInput",
  description: "What is to be made ready."
})
export type ActivationInput = typeof ActivationInput.Type

export const ReleaseInput = Schema.Struct({
  force: field(
    optional(Schema.Boolean),
    "True cancels the turn that runs; without it a release during a turn is answered with `turn_active`."
  )
}).annotations({
  identifier: "ReleaseInput",
  description: "How the executor is to be released."
})
export type ReleaseInput = typeof ReleaseInput.Type

export const ExecutorAnswer = Schema.Struct({
  operation: field(OperationRef, "The operation that does the work."),
  executor: field(SessionExecutor, "The executor as it is now."),
  event_watermark: field(
    Schema.Int,
    "The `seq` of the newest event of the session; read on from it to follow the work."
  )
}).annotations({ identifier: "ExecutorAnswer", description: "The executor, and the operation that works on it." })
export type ExecutorAnswer = typeof ExecutorAnswer.Type
