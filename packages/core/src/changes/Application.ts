import { field } from "@reins/base/domain/Field"
import { ApplicationId, ChangesetId, SessionId } from "@reins/base/domain/Ids"
import * as StateMachine from "@reins/base/domain/StateMachine"
import { Timestamp } from "@reins/base/domain/Timestamp"
import { Schema } from "effect"

export const ApplicationState = Schema.Literal("pending", "executing", "applied", "conflicted", "failed").annotations({
  description:
    "`applied`: the files were written, or would be. `conflicted`: paths of the target stand in the way. `failed`: `reason` tells why."
})
export type ApplicationState = typeof ApplicationState.Type

/** The moves of an application. */
export const applicationStates = /* @__PURE__ */ StateMachine.make<ApplicationState>("application", {
  pending: ["executing"],
  executing: ["applied", "conflicted", "failed"],
  applied: [],
  conflicted: [],
  failed: []
})

export const ApplicationStrategy = Schema.Literal("three_way", "exact").annotations({
  description:
    "`three_way` merges into the files of the target. `exact` wants every touched path as the base of the changeset has it."
})
export type ApplicationStrategy = typeof ApplicationStrategy.Type

export const ApplicationReason = Schema.Literal(
  "turn_active",
  "executor_unavailable",
  "timeout",
  "internal_error"
).annotations({
  description:
    "`turn_active`: an agent worked in the target. `executor_unavailable`: the target had no workspace. `timeout` and `internal_error` may go away with a new application."
})
export type ApplicationReason = typeof ApplicationReason.Type

export const Application = Schema.Struct({
  id: field(ApplicationId, "The id of the application."),
  changeset_id: field(ChangesetId, "The changeset that is applied."),
  session_id: field(SessionId, "The session that the changeset comes from."),
  target_session_id: field(SessionId, "The session whose workspace is changed."),
  strategy: field(ApplicationStrategy, "How the changes are brought in."),
  dry_run: field(Schema.Boolean, "A dry run only reports and writes nothing."),
  state: field(ApplicationState, "Where the application stands."),
  conflicts: field(
    Schema.Array(Schema.String),
    "The paths that stand in the way, sorted. When there are any, only the paths of `changed` may have been written."
  ),
  changed: field(
    Schema.Array(Schema.String),
    "The paths that were written, or would be without the dry run, sorted. Unless the state is `applied`, they may have been written."
  ),
  reason: field(Schema.NullOr(ApplicationReason), "Why the application failed; null otherwise."),
  reason_message: field(
    Schema.NullOr(Schema.String),
    "A sentence for people: what happened and what to do next. Null when there is no reason."
  ),
  created_at: field(Timestamp, "The time at which the application was asked for."),
  finished_at: field(Schema.NullOr(Timestamp), "The time of its end; null while it goes on.")
}).annotations({
  identifier: "Application",
  description: "One attempt to bring a sealed changeset into the workspace of a session."
})
export type Application = typeof Application.Type
