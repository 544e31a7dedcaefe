import { HttpApiGroup } from "@effect/platform"
import { extension, idPath, NeedsMachine, optional, post, read, withStatus } from "@reins/base/domain/Endpoint"
import { ExecutorLimits } from "@reins/base/domain/ExecutorLimits"
import { field } from "@reins/base/domain/Field"
import { ChangesetId, ConnectionId } from "@reins/base/domain/Ids"
import { installed } from "@reins/base/domain/Installed"
import { Timestamp } from "@reins/base/domain/Timestamp"
import { Schema } from "effect"
import { OperationRef } from "../../jobs/Job.js"
import { HarnessSelection } from "../../projects/Project.js"
import { LeaseState, Session, WorkspaceState } from "../../sessions/rows/Session.js"

export const HarnessSwitchInput = Schema.Struct({
  harness: field(HarnessSelection, "The provider of the new session."),
  connection_id: field(optional(ConnectionId), "The connection for the model of the new session."),
  summary: field(
    Schema.String.pipe(Schema.minLength(1), Schema.maxLength(100_000)),
    "Tells the next agent of the work so far. It is the first message of the new session."
  ),
  changeset_id: field(
    optional(ChangesetId),
    "A changeset of this session that the workspace of the new one starts with."
  )
}).annotations({ identifier: "HarnessSwitchInput", description: "The provider to go on with." })
export type HarnessSwitchInput = typeof HarnessSwitchInput.Type

export const NativeState = Schema.Struct({
  format: field(Schema.Literal("tar+gzip"), "The form of the archive."),
  encoding: field(Schema.Literal("base64"), "The form of `content`."),
  content: field(Schema.String, "The archive."),
  digest: field(Schema.String, "The SHA-256 of the archive, as in `sha256:<hex>`."),
  state_digest: field(
    Schema.String,
    "The digest of the state itself, which is equal for equal files whenever they are archived."
  ),
  files: field(
    Schema.Array(
      Schema.Struct({
        path: field(Schema.String, "The path in the archive."),
        size: field(Schema.Int, "The size in bytes.")
      })
    ),
    "The files of the archive."
  )
}).annotations({ identifier: "NativeState", description: "The agent's own record of a conversation, as an archive." })
export type NativeState = typeof NativeState.Type

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

const session = idPath("session_id")

export class ExecutorApi extends HttpApiGroup.make("sessions")
  .add(
    read("getExecutor", "/api/sessions/:session_id/executor", "The executor of a session")
      .setPath(session)
      .addSuccess(SessionExecutor)
  )
  .add(
    post(
      "activateExecutor",
      "/api/sessions/:session_id/executor/activations",
      "Make the executor and the workspace ready"
    )
      .setPath(session)
      .setPayload(ActivationInput)
      .addSuccess(ExecutorAnswer)
  )
  .add(
    post("releaseExecutor", "/api/sessions/:session_id/executor/releases", "Release the executor; the workspace stays")
      .setPath(session)
      .setPayload(ReleaseInput)
      .addSuccess(ExecutorAnswer)
  )
  .add(
    post("switchHarness", "/api/sessions/:session_id/harness-switches", "Go on in a new session with another provider")
      .setPath(session)
      .setPayload(HarnessSwitchInput)
      .addSuccess(withStatus(Session, 201))
      .annotateContext(extension)
  )
  .add(
    read("getNativeState", "/api/sessions/:session_id/native-state", "The agent's own record of the conversation")
      .setPath(session)
      .addSuccess(NativeState)
      .annotate(NeedsMachine, "session_id")
      .annotateContext(extension)
  ) {}
