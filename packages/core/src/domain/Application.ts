import { Schema } from "effect"
import { ApplicationId, ChangesetId, SessionId } from "./Ids.js"
import * as StateMachine from "./StateMachine.js"
import { Timestamp } from "./Timestamp.js"

export const ApplicationState = Schema.Literal("pending", "executing", "applied", "conflicted", "failed")
export type ApplicationState = typeof ApplicationState.Type

export const applicationStates = StateMachine.make<ApplicationState>("application", {
  pending: ["executing"],
  executing: ["applied", "conflicted", "failed"],
  applied: [],
  conflicted: [],
  failed: []
})

/** `three_way` merges into what the target holds; `exact` wants every touched path as the base of the changeset has it. */
export const ApplicationStrategy = Schema.Literal("three_way", "exact")
export type ApplicationStrategy = typeof ApplicationStrategy.Type

export const ApplicationReason = Schema.Literal("turn_active", "executor_unavailable", "timeout", "internal_error")
export type ApplicationReason = typeof ApplicationReason.Type

/** One attempt to bring a sealed changeset into the workspace of a session. */
export const Application = Schema.Struct({
  id: ApplicationId,
  changeset_id: ChangesetId,
  /** The session that the changeset comes from. */
  session_id: SessionId,
  target_session_id: SessionId,
  strategy: ApplicationStrategy,
  /** True reports what would happen and writes nothing. */
  dry_run: Schema.Boolean,
  state: ApplicationState,
  /** The paths that conflict, sorted. When there are any, only the paths of `changed` were written. */
  conflicts: Schema.Array(Schema.String),
  /** The paths that were written, sorted. A dry run names those that it would write, a failure those that it may have written. */
  changed: Schema.Array(Schema.String),
  reason: Schema.NullOr(ApplicationReason),
  reason_message: Schema.NullOr(Schema.String),
  created_at: Timestamp,
  finished_at: Schema.NullOr(Timestamp)
}).annotations({ identifier: "Application" })
export type Application = typeof Application.Type
